//! How processes of one machine reach each other: a socket in the data folder, a named pipe on
//! Windows.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::{Listener, Stream, connect};
#[cfg(windows)]
pub(super) use windows::{Listener, Stream, connect};
