//! The canonical text of a JSON object, for the plain texts that nearly all events are.
//!
//! The reference is `event/decoding.py`. Whatever is not plain (an exponent, a long number, a lone surrogate, equal
//! keys, deep nesting, text that is no JSON) is left to it: `Unsure` is no error, it says "look properly".

/// The text needs the reference.
#[derive(Debug)]
pub struct Unsure;

type Sure<T> = Result<T, Unsure>;

const MAX_DEPTH: usize = 100;
/// A double holds every decimal of so many digits, and its shortest spelling is that decimal.
const MAX_DIGITS: usize = 15;

/// A member as it stands in `out`: `"key":value,`.
#[derive(Clone, Copy)]
struct Member {
    begin: usize,
    key_end: usize,
    end: usize,
}

struct Writer<'a> {
    text: &'a [u8],
    at: usize,
    out: Vec<u8>,
    members: Vec<Member>,
    spare: Vec<u8>,
    depth: usize,
}

/// The canonical text of one object.
pub fn canonical(text: &[u8]) -> Sure<Vec<u8>> {
    std::str::from_utf8(text).map_err(|_| Unsure)?;
    let mut writer = Writer {
        text,
        at: 0,
        out: Vec::with_capacity(text.len() + 16),
        members: Vec::with_capacity(64),
        spare: Vec::with_capacity(text.len()),
        depth: 0,
    };
    if writer.next() != Some(b'{') {
        return Err(Unsure);
    }
    writer.object()?;
    match writer.next() {
        None => Ok(writer.out),
        Some(_) => Err(Unsure),
    }
}

impl Writer<'_> {
    /// The next byte that is no white space; it stays to be read.
    fn next(&mut self) -> Option<u8> {
        while let Some(&byte) = self.text.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    fn value(&mut self) -> Sure<()> {
        match self.next() {
            Some(b'"') => self.string(),
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(Unsure),
        }
    }

    fn word(&mut self, word: &[u8]) -> Sure<()> {
        if !self.text[self.at..].starts_with(word) {
            return Err(Unsure);
        }
        self.at += word.len();
        self.out.extend_from_slice(word);
        Ok(())
    }

    fn enter(&mut self) -> Sure<()> {
        self.depth += 1;
        self.at += 1;
        if self.depth > MAX_DEPTH {
            Err(Unsure)
        } else {
            Ok(())
        }
    }

    fn array(&mut self) -> Sure<()> {
        self.enter()?;
        self.out.push(b'[');
        if self.next() == Some(b']') {
            self.out.push(b']');
        } else {
            loop {
                self.value()?;
                match self.next() {
                    Some(b',') => self.out.push(b','),
                    Some(b']') => break,
                    _ => return Err(Unsure),
                }
                self.at += 1;
            }
            self.out.push(b']');
        }
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    fn object(&mut self) -> Sure<()> {
        self.enter()?;
        self.out.push(b'{');
        if self.next() == Some(b'}') {
            self.out.push(b'}');
        } else {
            self.members()?;
            *self.out.last_mut().ok_or(Unsure)? = b'}'; // in place of the last comma
        }
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    fn members(&mut self) -> Sure<()> {
        let first = self.members.len();
        let mut in_order = true;
        loop {
            let begin = self.out.len();
            if self.next() != Some(b'"') {
                return Err(Unsure);
            }
            self.string()?;
            let key_end = self.out.len();
            if self.out[begin..key_end].contains(&b'\\') {
                return Err(Unsure); // sorted by what it stands for, not by how it is written
            }
            if self.next() != Some(b':') {
                return Err(Unsure);
            }
            self.at += 1;
            self.out.push(b':');
            self.value()?;
            self.out.push(b',');
            let member = Member { begin, key_end, end: self.out.len() };
            if self.members.len() > first {
                in_order &= self.key(self.members[self.members.len() - 1]) < self.key(member);
            }
            self.members.push(member);
            match self.next() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(Unsure),
            }
        }
        if !in_order {
            self.sort(first)?;
        }
        self.members.truncate(first);
        Ok(())
    }

    fn key(&self, member: Member) -> &[u8] {
        &self.out[member.begin + 1..member.key_end - 1]
    }

    /// Bring the members from `first` on into the order of their keys.
    fn sort(&mut self, first: usize) -> Sure<()> {
        let start = self.members[first].begin;
        let out = &self.out;
        let key = |member: &Member| &out[member.begin + 1..member.key_end - 1];
        let members = &mut self.members[first..];
        members.sort_unstable_by(|a, b| key(a).cmp(key(b)));
        if members.windows(2).any(|pair| key(&pair[0]) == key(&pair[1])) {
            return Err(Unsure);
        }
        self.spare.clear();
        for member in members.iter() {
            self.spare.extend_from_slice(&out[member.begin..member.end]);
        }
        self.out.truncate(start);
        self.out.extend_from_slice(&self.spare);
        Ok(())
    }

    /// Copy a string, its escapes as the serializer writes them.
    fn string(&mut self) -> Sure<()> {
        self.out.push(b'"');
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let plain = plain_length(rest);
            self.out.extend_from_slice(&rest[..plain]);
            self.at += plain;
            match self.text.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                _ => return Err(Unsure), // a control character, or the end
            }
        }
        self.at += 1;
        self.out.push(b'"');
        Ok(())
    }

    fn escape(&mut self) -> Sure<()> {
        let &letter = self.text.get(self.at + 1).ok_or(Unsure)?;
        match letter {
            b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' => self.out.extend_from_slice(&[b'\\', letter]),
            b'/' => self.out.push(b'/'),
            b'u' => return self.unicode(),
            _ => return Err(Unsure),
        }
        self.at += 2;
        Ok(())
    }

    /// `\uXXXX`, or a pair of surrogates, as the character itself.
    fn unicode(&mut self) -> Sure<()> {
        let mut code = self.hex(self.at + 2)?;
        self.at += 6;
        if (0xd800..0xdc00).contains(&code) && self.text[self.at..].starts_with(b"\\u") {
            let low = self.hex(self.at + 2)?;
            if !(0xdc00..0xe000).contains(&low) {
                return Err(Unsure);
            }
            self.at += 6;
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        match char::from_u32(code).ok_or(Unsure)? {
            '\0'..='\x1f' => return Err(Unsure),
            '"' => self.out.extend_from_slice(b"\\\""),
            '\\' => self.out.extend_from_slice(b"\\\\"),
            letter => self.out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        Ok(())
    }

    fn hex(&self, at: usize) -> Sure<u32> {
        let digits = self.text.get(at..at + 4).ok_or(Unsure)?;
        let mut code = 0;
        for &digit in digits {
            code = code * 16 + char::from(digit).to_digit(16).ok_or(Unsure)?;
        }
        Ok(code)
    }

    /// Copy an integer below 10**18, or a decimal of few digits, without the zeros at its end.
    fn number(&mut self) -> Sure<()> {
        let begin = self.at;
        let sign = usize::from(self.text[self.at] == b'-');
        let whole = self.digits(begin + sign);
        let mut end = begin + sign + whole;
        let starts_with_zero = self.text[begin + sign..].first() == Some(&b'0');
        if whole == 0 || whole > 18 || (starts_with_zero && whole > 1) {
            return Err(Unsure);
        }
        if self.text.get(end) == Some(&b'.') {
            let places = self.digits(end + 1);
            self.at = end + 1 + places;
            let zeros = self.text[end + 1..self.at].iter().rev().take_while(|&&digit| digit == b'0').count();
            let kept = places - zeros;
            let leading = self.text[end + 1..self.at].iter().take_while(|&&digit| digit == b'0').count();
            if places == 0 || whole + places > MAX_DIGITS || (starts_with_zero && leading > 3) {
                return Err(Unsure); // the serializer may choose an exponent
            }
            end += if kept == 0 { 0 } else { 1 + kept };
        } else {
            self.at = end;
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) || &self.text[begin..end] == b"-0" {
            return Err(Unsure);
        }
        self.out.extend_from_slice(&self.text[begin..end]);
        Ok(())
    }

    fn digits(&self, at: usize) -> usize {
        self.text[at..].iter().take_while(|digit| digit.is_ascii_digit()).count()
    }
}

/// How many bytes are before the next quote, backslash or control character; eight at a time.
pub fn plain_length(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    while let Some(eight) = text.get(at..at + 8) {
        let word = u64::from_le_bytes([eight[0], eight[1], eight[2], eight[3], eight[4], eight[5], eight[6], eight[7]]);
        let quote = word ^ (ONES * u64::from(b'"'));
        let slash = word ^ (ONES * u64::from(b'\\'));
        let found = (quote.wrapping_sub(ONES) & !quote)
            | (slash.wrapping_sub(ONES) & !slash)
            | (word.wrapping_sub(ONES * 0x20) & !word);
        let found = found & HIGH; // false ones stand only above a true one
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    at + text[at..].iter().take_while(|&&byte| byte >= 0x20 && byte != b'"' && byte != b'\\').count()
}
