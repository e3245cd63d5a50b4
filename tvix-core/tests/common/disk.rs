//! A disk whose power can be cut.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use redb::StorageBackend;

use crate::random::Random;

/// What a disk writes whole or not at all.
const SECTOR: usize = 512;

/// A disk that keeps what was synced apart from what was only written. Clones are the same disk.
#[derive(Debug, Clone)]
pub(crate) struct Disk(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// Safe from a cut.
    synced: Vec<u8>,
    /// What a reader sees.
    written: Vec<u8>,
    /// What leads from the one to the other.
    unsynced: Vec<Change>,
    /// Calls until the power is cut; zero: it is.
    calls_left: u64,
    random: Random,
}

#[derive(Debug)]
enum Change {
    Write { offset: usize, data: Vec<u8> },
    Length(usize),
}

impl Disk {
    /// A disk that holds `bytes` and loses its power at the call `calls` from now.
    pub(crate) fn new(bytes: Vec<u8>, calls: u64, random: Random) -> Self {
        let written = bytes.clone();
        let unsynced = Vec::new();
        let state = State { synced: bytes, written, unsynced, calls_left: calls, random };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Whether the power is off.
    pub(crate) fn is_off(&self) -> bool {
        self.state().calls_left == 0
    }

    /// Cuts the power, if it is not off yet, and returns what lies on the disk then: all that was
    /// synced, and of the rest whatever sectors had got there by chance.
    pub(crate) fn cut(&self) -> Vec<u8> {
        let mut state = self.state();
        state.calls_left = 0;
        let mut random = state.random.clone();
        // From "nothing of it" to "all of it": the extremes find other faults than the middle.
        let share = [0, 10, 50, 90, 100][random.below(5) as usize];
        let mut bytes = state.synced.clone();
        for change in &state.unsynced {
            change.apply_in_part(&mut bytes, share, &mut random);
        }
        bytes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a call happen. During the one at which the power goes, what it does may or may not have
    /// happened: `act` runs by chance, and the call fails either way.
    fn call<T>(&self, act: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.state();
        let off = || Err(io::Error::other("the power is off"));
        match state.calls_left {
            0 => off(),
            1 => {
                state.calls_left = 0;
                if state.random.percent(50) {
                    act(&mut state)?;
                }
                off()
            }
            _ => {
                state.calls_left -= 1;
                act(&mut state)
            }
        }
    }
}

impl State {
    fn change(&mut self, change: Change) {
        change.apply(&mut self.written);
        self.unsynced.push(change);
    }

    fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            change.apply(&mut self.synced);
        }
    }
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write { offset, data } => put(bytes, *offset, data),
            Self::Length(length) => bytes.resize(*length, 0),
        }
    }

    /// Each sector of a write gets there in `share` of a hundred cases; a length does, or does not,
    /// or stops on its way.
    fn apply_in_part(&self, bytes: &mut Vec<u8>, share: u64, random: &mut Random) {
        match self {
            Self::Write { offset, data } => {
                let mut done = 0;
                while done < data.len() {
                    let to_border = SECTOR - (offset + done) % SECTOR;
                    let end = data.len().min(done + to_border);
                    if random.percent(share) {
                        put(bytes, offset + done, &data[done..end]);
                    }
                    done = end;
                }
            }
            Self::Length(length) => {
                let (low, high) = (bytes.len().min(*length), bytes.len().max(*length));
                let stopped = low + random.below((high - low) as u64 + 1) as usize;
                let chosen = if random.percent(share) { *length } else { stopped };
                if random.percent(share.max(50)) {
                    bytes.resize(chosen, 0);
                }
            }
        }
    }
}

/// Writes past the end make the file longer.
fn put(bytes: &mut Vec<u8>, offset: usize, data: &[u8]) {
    let end = offset + data.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(data);
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.call(|state| Ok(state.written.len() as u64))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.call(|state| {
            let from = offset as usize;
            let found = state.written.get(from..from + out.len());
            out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.call(|state| {
            state.change(Change::Length(len as usize));
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.call(|state| {
            state.sync();
            Ok(())
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.call(|state| {
            state.change(Change::Write { offset: offset as usize, data: data.to_vec() });
            Ok(())
        })
    }
}
