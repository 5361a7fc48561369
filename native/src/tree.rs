//! The parts of an event that are looked at, as Python values; the rest is passed over.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyList, PyString};

use crate::canonical::plain_length;

/// What is wanted of a value.
pub enum Wanted {
    /// All of it.
    Whole,
    /// Its canonical text, if it is an array or an object that is not empty.
    Text,
    /// These members, of an object or of each object of an array.
    Members(Vec<(Py<PyString>, Box<[u8]>, Wanted)>),
}

impl Wanted {
    /// Python's form: True, "text", or a dict of these by name.
    pub fn of(given: &Bound<'_, PyAny>) -> PyResult<Wanted> {
        if given.is_instance_of::<PyBool>() {
            return Ok(Wanted::Whole);
        }
        if given.is_instance_of::<PyString>() {
            return Ok(Wanted::Text);
        }
        let mut members = Vec::new();
        for (name, wanted) in given.cast::<PyDict>()?.iter() {
            let name = name.cast_into::<PyString>()?;
            let bytes = name.to_str()?.as_bytes().into();
            members.push((PyString::intern(given.py(), name.to_str()?).unbind(), bytes, Wanted::of(&wanted)?));
        }
        Ok(Wanted::Members(members))
    }
}

/// Reads a canonical text, which `canonical` has written: compact and well-formed.
pub struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Reader { text, at: 0 }
    }

    pub fn value<'py>(&mut self, py: Python<'py>, wanted: &Wanted) -> PyResult<Bound<'py, PyAny>> {
        match self.text[self.at] {
            b'{' | b'[' if matches!(wanted, Wanted::Text) && !matches!(self.text[self.at + 1], b'}' | b']') => {
                let begin = self.at;
                self.skip();
                Ok(PyBytes::new(py, &self.text[begin..self.at]).into_any())
            }
            b'{' => self.object(py, wanted),
            b'[' => self.array(py, wanted),
            b'"' => Ok(PyString::new(py, &self.string()).into_any()),
            b't' => Ok(self.word(4, PyBool::new(py, true).to_owned().into_any())),
            b'f' => Ok(self.word(5, PyBool::new(py, false).to_owned().into_any())),
            b'n' => Ok(self.word(4, py.None().into_bound(py))),
            _ => self.number(py),
        }
    }

    fn word<T>(&mut self, length: usize, value: T) -> T {
        self.at += length;
        value
    }

    fn object<'py>(&mut self, py: Python<'py>, wanted: &Wanted) -> PyResult<Bound<'py, PyAny>> {
        let object = PyDict::new(py);
        self.at += 1;
        while self.text[self.at] != b'}' {
            let begin = self.at + 1;
            self.skip_string();
            let name = &self.text[begin..self.at - 1];
            self.at += 1;
            match wanted {
                Wanted::Members(members) => match members.iter().find(|(_, bytes, _)| **bytes == *name) {
                    Some((key, _, wanted)) => object.set_item(key, self.value(py, wanted)?)?,
                    None => self.skip(),
                },
                _ => object.set_item(str_of(name), self.value(py, &Wanted::Whole)?)?,
            }
            self.at += usize::from(self.text[self.at] == b',');
        }
        self.at += 1;
        Ok(object.into_any())
    }

    fn array<'py>(&mut self, py: Python<'py>, wanted: &Wanted) -> PyResult<Bound<'py, PyAny>> {
        let list = PyList::empty(py);
        self.at += 1;
        while self.text[self.at] != b']' {
            list.append(self.value(py, wanted)?)?;
            self.at += usize::from(self.text[self.at] == b',');
        }
        self.at += 1;
        Ok(list.into_any())
    }

    fn string(&mut self) -> std::borrow::Cow<'a, str> {
        let begin = self.at + 1;
        self.skip_string();
        let raw = &self.text[begin..self.at - 1];
        if !raw.contains(&b'\\') {
            return str_of(raw).into();
        }
        let mut plain = Vec::with_capacity(raw.len());
        let mut bytes = raw.iter();
        while let Some(&byte) = bytes.next() {
            plain.push(match byte {
                b'\\' => match bytes.next() {
                    Some(b'n') => b'\n',
                    Some(b't') => b'\t',
                    Some(b'r') => b'\r',
                    Some(b'b') => 8,
                    Some(b'f') => 12,
                    Some(&other) => other,
                    None => byte,
                },
                _ => byte,
            });
        }
        String::from_utf8_lossy(&plain).into_owned().into()
    }

    fn number<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let length = self.text[self.at..].iter().take_while(|byte| !matches!(byte, b',' | b'}' | b']')).count();
        let text = str_of(&self.text[self.at..self.at + length]);
        self.at += length;
        if text.contains('.') {
            return Ok(PyFloat::new(py, text.parse()?).into_any());
        }
        Ok(text.parse::<i64>()?.into_pyobject(py)?.into_any())
    }

    fn skip_string(&mut self) {
        self.at += 1;
        loop {
            self.at += plain_length(&self.text[self.at..]);
            if self.text[self.at] == b'"' {
                break;
            }
            self.at += 2; // an escape
        }
        self.at += 1;
    }

    /// Pass over a value.
    fn skip(&mut self) {
        let mut depth = 0;
        loop {
            match self.text[self.at] {
                b'"' => self.skip_string(),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                }
                _ => self.at += 1,
            }
            if depth == 0 && matches!(self.text.get(self.at), None | Some(b',' | b'}' | b']')) {
                return;
            }
        }
    }
}

fn str_of(text: &[u8]) -> &str {
    std::str::from_utf8(text).unwrap_or_default()
}
