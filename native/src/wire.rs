//! PostgreSQL's binary format of rows and arrays; the reference is `postgres/wire.py`.

use std::io::Write;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDateAccess, PyDateTime, PyInt, PyString, PyTimeAccess, PyTzInfo, PyTzInfoAccess};

const NULL: [u8; 4] = (-1_i32).to_be_bytes();
const DAYS_TO_2000: i64 = 730_425; // from 0000-03-01
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

/// Microseconds since 2000-01-01 UTC.
fn microseconds(time: &Bound<'_, PyDateTime>) -> PyResult<i64> {
    let utc = PyTzInfo::utc(time.py())?;
    let zone = time.get_tzinfo().ok_or_else(|| PyValueError::new_err("a time without a zone"))?;
    if !zone.is(utc) {
        let there = time.call_method1("astimezone", (utc,))?;
        return microseconds(there.cast::<PyDateTime>()?);
    }
    let (month, day) = (i64::from(time.get_month()), i64::from(time.get_day()));
    let year = i64::from(time.get_year()) - i64::from(month <= 2); // years begin in March: the leap day comes last
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - DAYS_TO_2000;
    let seconds = i64::from(time.get_hour()) * 3600 + i64::from(time.get_minute()) * 60 + i64::from(time.get_second());
    Ok(days * DAY + seconds * 1_000_000 + i64::from(time.get_microsecond()))
}
