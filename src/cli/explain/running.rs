//! `syscost explain OPERATION --kernel`: which emulated kernel is the one that runs here.
//!
//! Not here: times from ftrace's function graph. The kernels that this was tested on are built without that tracer, so nobody could
//! have run it.

use crate::guest::images;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// The environment with the image of the kernel that runs here: a fetched one, or where distributions keep them.
/// Errors: how to get one.
pub fn environment() -> Result<String> {
    let path = "/proc/sys/kernel/osrelease";
    let release = std::fs::read_to_string(path).context(path)?;
    let release = release.trim();
    let fetched = images::find(release, std::env::consts::ARCH).is_ok_and(|image| image.release == release);
    let installed = ["/boot/vmlinuz-{}", "/usr/lib/modules/{}/vmlinuz"].map(|path| path.replace("{}", release).into());
    choose(release, fetched, &installed)
}

fn choose(release: &str, fetched: bool, installed: &[PathBuf]) -> Result<String> {
    if fetched {
        return Ok(format!("linux-{release}"));
    }
    match installed.iter().find(|path| path.is_file()).and_then(|path| Path::to_str(path)) {
        Some(path) => Ok(format!("linux:{path}")),
        None => bail!(
            "--kernel: there is no image of the kernel that runs here: get it with 'syscost kernel fetch {release}', then use \
             --env linux-{release}; or name its file, --env linux:FILE"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fetched_image_is_preferred_to_an_installed_one() {
        let directory = tempfile::tempdir().unwrap();
        let (none, image) = (directory.path().join("none"), directory.path().join("vmlinuz"));
        std::fs::write(&image, "").unwrap();
        let installed = [none.clone(), image.clone()];
        assert_eq!(choose("6.1.0-9", true, &installed).unwrap(), "linux-6.1.0-9");
        assert_eq!(choose("6.1.0-9", false, &installed).unwrap(), format!("linux:{}", image.display()));
        let refused = choose("6.1.0-9", false, &[none]).unwrap_err().to_string();
        assert!(refused.contains("'syscost kernel fetch 6.1.0-9'") && !refused.contains('\n'), "{refused}");
    }
}
