//! Compiled forms of a few pure functions of lineagelog. Each has its reference in Python, which is used where this
//! is not built, and tests hold the two to each other.

mod canonical;
mod tree;
mod wire;

use std::io::Write;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use sha2::{Digest, Sha256};

use tree::{Reader, Wanted};

/// Around the rows of a binary COPY.
const START: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const END: &[u8] = &[0xff, 0xff];

/// Reads events; made of what is looked at in them.
#[pyclass(frozen)]
struct Scanner {
    wanted: Wanted,
}

#[pymethods]
impl Scanner {
    #[new]
    fn new(wanted: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Scanner { wanted: Wanted::of(wanted)? })
    }

    /// What is looked at, and the SHA-256 of the canonical text; None where the reference has to look.
    fn scan<'py>(&self, py: Python<'py>, text: &[u8]) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyBytes>)>> {
        let Ok(canonical) = canonical::canonical(text) else {
            return Ok(None);
        };
        let hash = Sha256::digest(&canonical);
        let tree = Reader::new(&canonical).value(py, &self.wanted)?;
        Ok(Some((tree, PyBytes::new(py, &hash))))
    }
}

/// See event/canonical.py.
#[pyfunction]
#[pyo3(signature = (*parts))]
fn name_key<'py>(py: Python<'py>, parts: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyBytes>> {
    let mut hash = Sha256::new();
    for part in parts.iter_borrowed() {
        if part.is_none() {
            hash.update(b"-");
        } else {
            let part = part.cast::<PyString>()?;
            let text = part.to_str()?;
            hash.update(text.len().to_string());
            hash.update(b":");
            hash.update(text.as_bytes());
        }
    }
    Ok(PyBytes::new(py, &hash.finalize()[..16]))
}

/// See postgres/wire.py; `code` says how the values travel.
#[pyfunction]
fn encode_array<'py>(py: Python<'py>, code: u8, oid: i32, values: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let count = values.len()?;
    let mut out = Vec::with_capacity(20 + 24 * count);
    for number in [1, 1, oid, i32::try_from(count)?, 1] {
        out.extend_from_slice(&number.to_be_bytes());
    }
    for value in values.try_iter()? {
        wire::put(&mut out, code, &value?)?;
    }
    Ok(PyBytes::new(py, &out))
}

/// See postgres/wire.py; `codes` has a letter for each column.
#[pyfunction]
fn encode_rows<'py>(py: Python<'py>, codes: &[u8], rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let width = i16::try_from(codes.len())?.to_be_bytes();
    let mut table = Vec::new();
    let mut size = START.len() + END.len();
    for row in rows.try_iter()? {
        let row = row?.cast_into::<PyTuple>()?;
        if row.len() != codes.len() {
            return Err(PyValueError::new_err("a row has another number of columns"));
        }
        size += width.len();
        for (code, value) in codes.iter().zip(row.iter_borrowed()) {
            size += wire::size(*code, &value)?;
        }
        table.push(row);
    }
    PyBytes::new_with(py, size, |mut out| {
        out.write_all(START)?;
        for row in table {
            out.write_all(&width)?;
            for (code, value) in codes.iter().zip(row.iter_borrowed()) {
                wire::put(&mut out, *code, &value)?;
            }
        }
        Ok(out.write_all(END)?)
    })
}

#[pymodule]
fn _compiled(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Scanner>()?;
    module.add_function(wrap_pyfunction!(name_key, module)?)?;
    module.add_function(wrap_pyfunction!(encode_array, module)?)?;
    module.add_function(wrap_pyfunction!(encode_rows, module)?)
}
