//! Writing files whole or not at all.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::path::Path;

/// Makes a file, and the folders it needs. Fails when something has that name already.
pub(crate) fn create(path: &Path, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    let file = temporary(folder, bytes, permissions)?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    Ok(())
}

/// Gives a file another content. Its permissions stay.
pub(crate) fn overwrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let data = fs::metadata(path)?;
    if must_stay_in_place(&data) {
        return write_in_place(path, bytes);
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    match temporary(folder, bytes, Some(data.permissions())) {
        Ok(file) => file.persist(path).map(drop).map_err(|error| error.error),
        // The file may be written though its folder may not.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => write_in_place(path, bytes),
        Err(error) => Err(error),
    }
}

/// A whole file beside its place, to be given its name once it is complete.
fn temporary(
    folder: &Path,
    bytes: &[u8],
    permissions: Option<Permissions>,
) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".charla-");
    #[cfg(unix)]
    let ordinary: Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    #[cfg(unix)]
    builder.permissions(ordinary);
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    Ok(file)
}

fn write_in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).truncate(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A file with several names, or of another owner, would lose them if another took its place.
#[cfg(unix)]
fn must_stay_in_place(data: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    data.nlink() > 1 || data.uid() != rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn must_stay_in_place(_: &fs::Metadata) -> bool {
    false
}
