//! The tools that read and change files.

mod buffers;
mod change;
mod list_directory;
mod media;
mod memory;
mod omission;
mod read_file;
mod read_many;
mod replace;
mod target;
mod unified;
mod write_file;

pub use buffers::Buffers;
pub use change::Workbench;
pub(crate) use change::diff;
pub use list_directory::ListDirectory;
pub(crate) use list_directory::expect_folder;
pub(crate) use media::sniff;
pub use memory::SaveMemory;
pub(crate) use read_file::MOST_LINE_CHARS;
pub use read_file::ReadFile;
pub use read_many::ReadManyFiles;
pub use replace::Replace;
pub use write_file::WriteFile;
