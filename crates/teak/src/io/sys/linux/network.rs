//! Detection of network file systems, where neither locks nor mappings of several machines are
//! coherent.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

/// The `statfs` type of file systems in user space. Only the mount table shows which one it is.
const FUSE: u32 = 0x6573_5546;
/// The types of NFS, SMB and its predecessors, AFS and Coda, Ceph, 9P, OCFS2 and GFS2.
const NETWORK: [u32; 12] = [
    0x6969,
    0x517B,
    0xFF53_4D42,
    0xFE53_4D42,
    0x564C,
    0x5346_414F,
    0x6B41_4653,
    0x7375_7245,
    0x00C3_6400,
    0x0102_1997,
    0x7461_636F,
    0x0116_1970,
];
/// Mount table names of network file systems in user space, and of others without a type of their
/// own.
const NETWORK_NAMES: [&str; 35] = [
    "9p",
    "afs",
    "beegfs",
    "blobfuse",
    "blobfuse2",
    "ceph",
    "ceph-fuse",
    "cifs",
    "curlftpfs",
    "davfs",
    "davfs2",
    "fhgfs",
    "gcsfuse",
    "geesefs",
    "glusterfs",
    "goofys",
    "gpfs",
    "hdfs",
    "juicefs",
    "JuiceFS",
    "lizardfs",
    "lustre",
    "mfs",
    "moosefs",
    "ncpfs",
    "nfs",
    "nfs4",
    "orangefs",
    "panfs",
    "rclone",
    "s3fs",
    "seaweedfs",
    "smb3",
    "smbnetfs",
    "sshfs",
];

/// Whether something is on a network file system. Unknown cases count as local.
pub(crate) fn is_on_network(existing: &Path) -> bool {
    let kind = rustix::fs::statfs(existing).map(|stat| stat.f_type as u32);
    match kind {
        Ok(FUSE) => is_mounted_from_network(existing),
        Ok(kind) => NETWORK.contains(&kind),
        Err(_) => false,
    }
}

fn is_mounted_from_network(existing: &Path) -> bool {
    let (Ok(found), Ok(table)) = (
        fs::metadata(existing),
        fs::read_to_string("/proc/self/mountinfo"),
    ) else {
        return false;
    };
    let device = found.dev();
    let id = format!("{}:{}", libc::major(device), libc::minor(device));
    mounted(&table, &id).is_some_and(is_network_name)
}

/// The name of a device's file system in a mount table.
fn mounted<'t>(table: &'t str, device: &str) -> Option<&'t str> {
    table.lines().find_map(|line| {
        let (of_mount, of_file_system) = line.split_once(" - ")?;
        let is_it = of_mount.split(' ').nth(2) == Some(device);
        of_file_system.split(' ').next().filter(|_| is_it)
    })
}

fn is_network_name(name: &str) -> bool {
    NETWORK_NAMES.contains(&name.strip_prefix("fuse.").unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::{is_network_name, mounted};

    #[test]
    fn the_mount_table_has_the_type_of_a_device() {
        let table = "\
22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro
61 22 0:52 / /mnt/a\\040-\\040b rw,nosuid shared:2 master:1 - fuse.sshfs host:/home rw,user_id=0
62 22 0:53 / /mnt/usb rw - fuseblk /dev/sdb1 rw
63 22 0:54 /sub /mnt/plain rw - fuse none rw
";
        let named = |device| mounted(table, device);
        assert_eq!(named("259:2"), Some("ext4"));
        assert_eq!(named("0:52"), Some("fuse.sshfs"));
        assert_eq!(named("0:53"), Some("fuseblk"));
        assert_eq!(named("0:54"), Some("fuse"));
        assert_eq!(named("0:5"), None);
    }

    #[test]
    fn file_systems_in_user_space_are_local_unless_they_are_known_to_be_of_the_network() {
        for name in [
            "fuse.sshfs",
            "fuse.rclone",
            "9p",
            "nfs4",
            "cifs",
            "fuse.glusterfs",
        ] {
            assert!(is_network_name(name), "{name}");
        }
        for name in [
            "fuseblk",
            "fuse",
            "fuse.ext4",
            "fuse.exfat",
            "fuse.mergerfs",
            "ext4",
        ] {
            assert!(!is_network_name(name), "{name}");
        }
    }
}
