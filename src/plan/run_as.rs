//! Whom the app runs as where sweetspot itself is root: the user that was named, else the owner of
//! the app's folder, else whoever called sudo; else root.
//!
//! In: what was typed, the app's folder and who we are. Out: a user, with its source.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::{Uid, User, getgrouplist};

use super::error::{PlanError, Problem};
use super::options::Key;
use super::settings::{Settings, Sourced};
use crate::server::RunAs;
use crate::terms::PlanSource;

/// Whose process this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invoker {
    pub uid: u32,
    /// Who called sudo, if somebody did.
    pub sudo_uid: Option<u32>,
}

/// `None`: we are not root, so that the app runs as whoever we are.
pub(super) fn run_as(
    settings: &Settings<'_>,
    folder: &Path,
    invoker: Invoker,
) -> Result<Option<Sourced<RunAs>>, PlanError> {
    let Some(given) = settings.get(Key::User) else {
        return Ok((invoker.uid == 0).then(|| by_default(folder, invoker.sudo_uid)).flatten());
    };
    let user = given.read(|name| named(name.trim()))?;
    if invoker.uid != 0 && user.value.uid != invoker.uid {
        return Err(given.problem(Problem::OnlyRootMay));
    }
    Ok((invoker.uid == 0).then_some(user))
}

/// For what has no owner of its own: who called sudo, else the owner of the folder where that was
/// typed; `None`: both are root, or we are not.
pub fn caller(invoker: Invoker, folder: &Path) -> Option<RunAs> {
    let Invoker { uid: 0, sudo_uid } = invoker else { return None };
    let owner = fs::metadata(folder).ok().map(|metadata| metadata.uid());
    [sudo_uid, owner].into_iter().flatten().filter(|uid| *uid != 0).find_map(known)
}

fn named(name: &str) -> Result<RunAs, Problem> {
    let found = || User::from_name(name)?.map(with_groups).transpose();
    let read = found().map_err(|error| Problem::UsersUnread(error.to_string()))?;
    read.ok_or(Problem::NoSuchUser)
}

/// A user that this machine doesn't know, or that cannot get into the folder, could not start it.
fn by_default(folder: &Path, sudo_uid: Option<u32>) -> Option<Sourced<RunAs>> {
    let owner = fs::metadata(folder).ok().map(|metadata| metadata.uid());
    let candidates = [(owner, PlanSource::FolderOwner), (sudo_uid, PlanSource::SudoUser)];
    let chosen = candidates.into_iter().find_map(|(uid, source)| {
        let value = known(uid.filter(|&uid| uid != 0)?)?;
        may_enter(&value, folder).then_some(Sourced { value, source })
    });
    chosen.or_else(|| Some(Sourced { value: known(0)?, source: PlanSource::OwnUser }))
}

fn known(uid: u32) -> Option<RunAs> {
    let user = User::from_uid(Uid::from_raw(uid)).ok().flatten()?;
    with_groups(user).ok()
}

fn with_groups(user: User) -> io::Result<RunAs> {
    let name = CString::new(user.name.as_str())?;
    let groups = getgrouplist(&name, user.gid)?.into_iter().map(|gid| gid.as_raw()).collect();
    let (uid, gid) = (user.uid.as_raw(), user.gid.as_raw());
    Ok(RunAs { name: user.name, uid, gid, groups, home: user.dir })
}

/// May it pass through every folder on the way, by their modes?
fn may_enter(user: &RunAs, folder: &Path) -> bool {
    folder.ancestors().all(|folder| {
        fs::metadata(folder).is_ok_and(|it| {
            let shift = if it.uid() == user.uid {
                6
            } else if user.groups.contains(&it.gid()) {
                3
            } else {
                0
            };
            it.mode() >> shift & 1 == 1
        })
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn only_the_folders_of_others_that_are_closed_keep_a_user_out() {
        let top = tempfile::tempdir().unwrap();
        let app = top.path().join("app");
        fs::create_dir(&app).unwrap();
        let own = fs::metadata(&app).unwrap();
        let user = |uid, gid| RunAs {
            name: "deploy".into(),
            uid,
            gid,
            groups: vec![gid],
            home: "/srv/deploy".into(),
        };
        let (owner, member, other) = (
            user(own.uid(), own.gid() + 1),
            user(own.uid() + 1, own.gid()),
            user(own.uid() + 1, own.gid() + 1),
        );
        for (mode, may) in [
            (0o755, [true, true, true]),
            (0o750, [true, true, false]),
            (0o700, [true, false, false]),
            (0o705, [true, false, true]),
        ] {
            fs::set_permissions(top.path(), fs::Permissions::from_mode(mode)).unwrap();
            let seen = [&owner, &member, &other].map(|user| may_enter(user, &app));
            assert_eq!(seen, may, "{mode:o}");
        }
        fs::set_permissions(top.path(), fs::Permissions::from_mode(0o700)).unwrap();
    }

    #[test]
    fn root_gives_the_app_to_its_owner_and_else_to_whoever_called_sudo() {
        let Some(nobody) = named("nobody").ok().filter(|_| Uid::effective().is_root()) else {
            eprintln!("not run: it takes root and a user called nobody");
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        let chosen = |sudo_uid| by_default(path, sudo_uid).map(|it| (it.value.name, it.source));
        assert_eq!(chosen(None), Some(("root".into(), PlanSource::OwnUser)));
        let by_sudo = Some(("nobody".into(), PlanSource::SudoUser));
        assert_eq!(chosen(Some(nobody.uid)), by_sudo);
        chown(path, Some(nobody.uid), None).unwrap();
        assert_eq!(chosen(None), Some(("nobody".into(), PlanSource::FolderOwner)));
        // Of nobody that the machine knows.
        chown(path, Some(4_000_000_001), None).unwrap();
        assert_eq!(chosen(None), Some(("root".into(), PlanSource::OwnUser)));
    }

    #[test]
    fn a_name_that_nobody_has_is_refused() {
        assert_eq!(named("no-such-user-of-this-machine"), Err(Problem::NoSuchUser));
        assert_eq!(named("root").unwrap().uid, 0);
    }
}
