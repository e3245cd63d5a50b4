//! Which file systems are not to be trusted with locks and syncs.

use std::path::Path;

/// The name of the network file system that `path` lies on; `None` for a local one, and where the
/// system does not tell.
#[cfg(target_os = "linux")]
pub(crate) fn network(path: &Path) -> Option<&'static str> {
    let found = rustix::fs::statfs(path).ok()?;
    // The field's type differs between architectures, and where it has 32 bits it may be signed.
    let number = i128::from(found.f_type) & 0xFFFF_FFFF;
    NETWORK.iter().find(|(magic, _)| i128::from(*magic) == number).map(|(_, name)| *name)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn network(_path: &Path) -> Option<&'static str> {
    None
}

/// Numbers by which Linux knows file systems, from `statfs(2)` and `linux/magic.h`. 9P and FUSE are
/// left out: virtual machines and local tools use them too.
#[cfg(target_os = "linux")]
const NETWORK: [(u32, &str); 9] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x5346_414F, "AFS"),
    (0x00C3_6400, "Ceph"),
    (0x7375_7245, "Coda"),
    (0x0BD0_0BD0, "Lustre"),
    (0x4750_4653, "GPFS"),
];
