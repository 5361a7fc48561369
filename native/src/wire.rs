//! PostgreSQL's binary format of rows and arrays; the reference is `postgres/wire.py`.

use std::io::Write;

use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyDateTime, PyInt, PyString, PyTzInfo};

const NULL: [u8; 4] = (-1_i32).to_be_bytes();
const DAY: i64 = 86_400_000_000;

/// How many bytes `put` takes for a value.
pub fn size(code: u8, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    if value.is_none() {
        return Ok(4);
    }
    Ok(match code {
        b't' => 4 + value.cast::<PyString>()?.to_str()?.len(),
        b'x' => 4 + value.cast::<PyBytes>()?.as_bytes().len(),
        b'j' => 5 + value.cast::<PyBytes>()?.as_bytes().len(),
        b'o' => 5,
        b'i' => 8,
        _ => 12,
    })
}

/// Append a value as the wire has it: its length, then its data.
pub fn put(out: &mut impl Write, code: u8, value: &Bound<'_, PyAny>) -> PyResult<()> {
    if value.is_none() {
        return Ok(out.write_all(&NULL)?);
    }
    match code {
        b't' => put_data(out, value.cast::<PyString>()?.to_str()?.as_bytes()),
        b'z' => put_data(out, &microseconds(value.cast::<PyDateTime>()?)?.to_be_bytes()),
        b'x' => put_data(out, value.cast::<PyBytes>()?.as_bytes()),
        b'j' => {
            let data = value.cast::<PyBytes>()?.as_bytes();
            out.write_all(&length(data.len() + 1)?)?;
            out.write_all(&[1])?;
            Ok(out.write_all(data)?)
        }
        b'o' => put_data(out, &[u8::from(value.cast::<PyBool>()?.is_true())]),
        b'q' => put_data(out, &value.cast::<PyInt>()?.extract::<i64>()?.to_be_bytes()),
        b'i' => put_data(out, &value.cast::<PyInt>()?.extract::<i32>()?.to_be_bytes()),
        _ => Err(PyValueError::new_err("no such kind of column")),
    }
}

fn length(bytes: usize) -> PyResult<[u8; 4]> {
    i32::try_from(bytes).map(i32::to_be_bytes).map_err(|_| PyValueError::new_err("a value is longer than 2 GiB"))
}

fn put_data(out: &mut impl Write, data: &[u8]) -> PyResult<()> {
    out.write_all(&length(data.len())?)?;
    Ok(out.write_all(data)?)
}

/// Microseconds since 2000-01-01 UTC. Python subtracts, because the stable ABI has no look into a datetime; a time
/// without a zone it refuses.
fn microseconds(time: &Bound<'_, PyDateTime>) -> PyResult<i64> {
    static EPOCH: PyOnceLock<Py<PyDateTime>> = PyOnceLock::new();
    let py = time.py();
    let epoch = EPOCH.get_or_try_init(py, || {
        PyDateTime::new(py, 2000, 1, 1, 0, 0, 0, 0, Some(&*PyTzInfo::utc(py)?)).map(Bound::unbind)
    })?;
    let since = time.sub(epoch)?;
    let days: i64 = since.getattr(intern!(py, "days"))?.extract()?;
    let seconds: i64 = since.getattr(intern!(py, "seconds"))?.extract()?;
    let microseconds: i64 = since.getattr(intern!(py, "microseconds"))?.extract()?;
    Ok(days * DAY + seconds * 1_000_000 + microseconds)
}
