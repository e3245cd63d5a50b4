//! Lines of a text file, of bounded length.

use std::io::{BufRead, Read};

use crate::{Error, Result};

/// The longest line that is read, in bytes: the largest document, every character escaped.
const LINE_MAX: u64 = 4 << 20;

/// Reads a file line by line, without the line ends. A line that is too long or not UTF-8 is an error
/// in its place; reading goes on after it. An input that fails ends the lines after one error.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    number: u64,
    failed: bool,
}

impl<R: BufRead> Lines<R> {
    /// The lines of `input`.
    pub fn new(input: R) -> Self {
        Self { input, number: 0, failed: false }
    }

    /// The number of the line read last; the first is 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    fn read(&mut self) -> std::io::Result<Option<Result<String>>> {
        let mut bytes = Vec::new();
        let read = self.input.by_ref().take(LINE_MAX + 1).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
            bytes.pop_if(|byte| *byte == b'\r');
        } else if read as u64 > LINE_MAX {
            self.input.skip_until(b'\n')?;
            let reason = format!("line {} is longer than {} MiB", self.number, LINE_MAX >> 20);
            return Ok(Some(Err(Error::invalid("input", reason))));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::invalid("input", format!("line {} is no UTF-8", self.number)));
        Ok(Some(text))
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        self.read().unwrap_or_else(|error| {
            self.failed = true;
            Some(Err(Error::backend("reading the input", error)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_cannot_be_read_is_an_error_in_its_place() {
        let mut input = b"one\r\n\xff\n".to_vec();
        input.extend(vec![b'x'; LINE_MAX as usize + 10]);
        input.extend(b"\nlast");
        let read: Vec<_> =
            Lines::new(&input[..]).map(|line| line.map_err(|e| e.to_string())).collect();
        assert_eq!(
            (read.len(), read[0].as_deref(), read[3].as_deref()),
            (4, Ok("one"), Ok("last"))
        );
        let error = |at: usize| read[at].clone().expect_err("unreadable");
        assert!(error(1).contains("line 2") && error(2).contains("line 3"), "{read:?}");
    }
}
