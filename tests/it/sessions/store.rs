//! Tests of the store: what it keeps, and what it says when it can't.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sweetspot::report::json;
use sweetspot::store::{SessionHead, SessionId, Store, StoreError, StoreErrorKind};
use sweetspot::terms::{Event, EventKind, SessionState, Warning};

use super::sample;
use crate::failures::site::set_mode;
use crate::schema::report_of;

pub fn head() -> SessionHead {
    SessionHead {
        fingerprint: "shop-2-cores".to_string(),
        app: "/srv/shop".to_string(),
        server: "puma 5.6.5".to_string(),
    }
}

/// Where a store may be, in a folder of its own.
fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    (folder, path)
}

/// A store with one session of these events.
pub fn filled(path: &Path, events: &[Event]) -> (Store, SessionId) {
    let mut store = Store::open(path).unwrap();
    let id = store.begin(&head(), "2026-11-20T18:46:44Z").unwrap();
    for event in events {
        store.append(id, event).unwrap();
    }
    (store, id)
}

/// Runs `work` on a thread that has no privilege: as nobody when this is root, who is refused
/// nothing. Only that thread changes its user, because the raw system calls, unlike the C
/// library's, do not change it for the whole process.
pub fn as_nobody<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    const NOBODY: libc::c_long = 65_534;
    std::thread::scope(|scope| {
        scope
            .spawn(|| {
                // SAFETY: these calls take integers and a null pointer with a count of zero.
                unsafe {
                    if libc::geteuid() == 0 {
                        let none = std::ptr::null::<libc::gid_t>();
                        assert_eq!(libc::syscall(libc::SYS_setgroups, 0, none), 0);
                        assert_eq!(libc::syscall(libc::SYS_setresgid, NOBODY, NOBODY, NOBODY), 0);
                        assert_eq!(libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY), 0);
                    }
                }
                work()
            })
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Does to a store's database what no version of ours would.
pub fn change(path: &Path, statements: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(statements).unwrap();
}

fn assert_says(error: &StoreError, kind: StoreErrorKind, path: &Path, parts: &[&str]) {
    let text = error.to_string();
    assert_eq!(error.kind, kind, "{text}");
    assert!(text.contains(&path.display().to_string()), "{text}");
    for part in parts {
        assert!(text.contains(part), "'{part}' is missing in: {text}");
    }
}

#[test]
fn events_read_back_as_they_were_appended_also_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/s.db");
    let events = sample::events();
    let (store, id) = filled(&path, &events);
    assert_eq!(store.events(id).unwrap(), events);
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.events(id).unwrap(), events);
    let [row] = &store.sessions().unwrap()[..] else { panic!("one session was begun") };
    assert_eq!((row.id, row.state, row.is_alive), (id, SessionState::Done, false));
    assert_eq!(row.head, head());
    assert_eq!(row.decision, Some(sample::decision()));
}

#[test]
fn a_replayed_report_is_the_same_to_the_last_digit() {
    let folder = tempfile::tempdir().unwrap();
    let mut events = sample::events();
    // Figures that a careless reader of decimals gets wrong in the last bit.
    for (event, number) in events.iter_mut().zip(1..) {
        event.at_s += 1.0 / f64::from(number * 7);
        if let EventKind::TrialFinished { summary, .. } = &mut event.kind {
            summary.summary.throughput_rps += 1e-13 + 0.1 / f64::from(number);
        }
    }
    let (store, id) = filled(&folder.path().join("s.db"), &events);
    let live = json::render(&report_of(&events, None));
    let replayed = json::render(&report_of(&store.events(id).unwrap(), None));
    assert_eq!(live, replayed);
}

#[test]
fn seconds_are_not_stored() {
    let folder = tempfile::tempdir().unwrap();
    let second = EventKind::Second(sample::second(1));
    let events = [sample::started(), sample::event(1.0, second)];
    let (store, id) = filled(&folder.path().join("s.db"), &events);
    assert_eq!(store.events(id).unwrap(), events[..1]);
}

#[test]
fn two_stores_write_one_file_at_once_and_nothing_is_lost() {
    let (_folder, path) = place();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| filled(&path, &sample::unfinished_events()));
        }
    });
    let store = Store::open(&path).unwrap();
    let sessions = store.sessions().unwrap();
    let ids: Vec<i64> = sessions.iter().map(|row| row.id.0).collect();
    assert_eq!(ids, [6, 5, 4, 3, 2, 1], "newest first");
    for row in sessions {
        assert_eq!(store.events(row.id).unwrap(), sample::unfinished_events());
    }
}

#[test]
fn another_run_that_holds_the_file_is_named_as_the_reason() {
    let (_folder, path) = place();
    let (mut store, id) = filled(&path, &[]);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.append(id, &sample::started()).unwrap_err();
    assert_says(&error, StoreErrorKind::Locked, &path, &["another run holds it", "--store"]);
    other.execute_batch("ROLLBACK").unwrap();
    store.append(id, &sample::started()).unwrap();
    assert_eq!(store.events(id).unwrap(), [sample::started()]);
}

#[test]
fn an_event_that_could_not_be_read_back_is_refused_and_leaves_nothing() {
    let (_folder, path) = place();
    let (mut store, id) = filled(&path, &[sample::started()]);
    let event = sample::event(f64::NAN, EventKind::Warned(Warning::verbatim("c", "m", "a")));
    let error = store.append(id, &event).unwrap_err();
    assert_says(&error, StoreErrorKind::Bug, &path, &["warned", "report it"]);
    assert_eq!(store.events(id).unwrap(), [sample::started()]);
}

/// A process of ours that has ended and a session that says it writes it.
fn abandon(path: &Path, id: SessionId) {
    let mut child = Command::new("true").spawn().unwrap();
    let pid = child.id();
    child.wait().unwrap();
    change(path, &format!("UPDATE sessions SET owner = '{pid} 1' WHERE id = {}", id.0));
}

#[test]
fn a_session_is_taken_up_only_when_its_program_died() {
    let (_folder, path) = place();
    let (mut store, id) = filled(&path, &sample::unfinished_events());
    let fingerprint = head().fingerprint;
    assert_eq!(store.unfinished(&fingerprint).unwrap(), [], "this program lives");
    abandon(&path, id);
    assert_eq!(store.unfinished("another app").unwrap(), []);
    assert_eq!(store.unfinished(&fingerprint).unwrap(), [id]);
    store.take_up(id).unwrap();
    assert_eq!(store.unfinished(&fingerprint).unwrap(), [], "it is ours now");
    assert!(store.sessions().unwrap()[0].is_alive);
    let (newer, later) = filled(&path, &sample::unfinished_events());
    drop(store);
    for session in [id, later] {
        abandon(&path, session);
    }
    assert_eq!(newer.unfinished(&fingerprint).unwrap(), [later, id], "newest first");
}

#[test]
fn a_session_that_another_living_program_writes_is_neither_taken_up_nor_removed() {
    let (_folder, path) = place();
    let (mut store, id) = filled(&path, &sample::unfinished_events());
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let ticks = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap();
    change(&path, &format!("UPDATE sessions SET owner = '{} {ticks}'", child.id()));
    let results = [store.take_up(id), store.remove(id)];
    child.kill().unwrap();
    child.wait().unwrap();
    for result in results {
        let pid = format!("process {}", child.id());
        assert_says(&result.unwrap_err(), StoreErrorKind::Locked, &path, &[&pid, "stop it"]);
    }
    store.remove(id).unwrap();
}

/// Of the store's file, its log and the copy of an older format, those in which this text is.
fn files_with(path: &Path, text: &str) -> Vec<&'static str> {
    let holds = |ending: &&str| {
        let file = PathBuf::from(format!("{}{ending}", path.display()));
        let bytes = fs::read(file).unwrap_or_default();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    ["", "-wal", ".v1"].into_iter().filter(holds).collect()
}

#[test]
fn nothing_of_a_removed_session_is_left_in_any_file() {
    let (_folder, path) = place();
    let (mut store, id) = filled(&path, &sample::events());
    let (mut other, other_id) = filled(&path, &sample::unfinished_events());
    let planted = "pl4nted in an event";
    change(&path, &format!("UPDATE sessions SET app = '{planted}' WHERE id = {}", id.0));
    change(
        &path,
        &format!("UPDATE events SET kind = kind || ' {planted}' WHERE session = {}", id.0),
    );
    fs::copy(&path, format!("{}.v1", path.display())).unwrap();
    assert!(!files_with(&path, planted).is_empty());
    store.remove(id).unwrap();
    assert_eq!(files_with(&path, planted), [""; 0]);
    assert_eq!(other.events(other_id).unwrap().len(), sample::unfinished_events().len());
    other.append(other_id, &sample::started()).unwrap();
}

#[test]
fn what_older_versions_freed_without_writing_over_it_goes_too() {
    let (_folder, path) = place();
    let (mut store, id) = filled(&path, &sample::events());
    let (_, removed) = filled(&path, &sample::events());
    let planted = "pl4nted in what was freed";
    change(&path, &format!("UPDATE events SET json = '{planted}' WHERE session = {}", removed.0));
    let plain =
        format!("PRAGMA secure_delete = 0; DELETE FROM events WHERE session = {}", removed.0);
    rusqlite::Connection::open(&path).unwrap().execute_batch(&plain).unwrap();
    assert!(!files_with(&path, planted).is_empty(), "it is there still");
    store.remove(id).unwrap();
    assert_eq!(files_with(&path, planted), [""; 0]);
}

#[test]
fn nothing_is_added_for_another_owner_or_to_a_newer_programs_tables() {
    let (_folder, path) = place();
    let (mut store, id) = filled(&path, &sample::events());
    change(&path, "PRAGMA user_version = 7");
    let error = store.append(id, &sample::started()).unwrap_err();
    assert_says(&error, StoreErrorKind::Newer, &path, &["format 7"]);
    change(&path, "PRAGMA user_version = 2");
    change(&path, "UPDATE sessions SET owner = '1 1 elsewhere'");
    let error = store.append(id, &sample::started()).unwrap_err();
    assert_says(&error, StoreErrorKind::Locked, &path, &["session 1 is being written by"]);
    assert_eq!(store.events(id).unwrap().len(), sample::events().len());
}

#[test]
fn an_older_format_stays_while_somebody_writes_it() {
    let (_folder, path) = place();
    let (store, _) = filled(&path, &sample::events());
    change(&path, "PRAGMA user_version = 1");
    for error in [Store::open(&path).unwrap_err(), Store::open_existing(&path).unwrap_err()] {
        assert_says(&error, StoreErrorKind::Locked, &path, &["an older sweetspot writes"]);
    }
    drop(store);
    change(&path, "DROP TABLE live");
    Store::open(&path).unwrap();
}

#[test]
fn a_removed_session_is_gone_and_its_number_is_not_used_again() {
    let (_folder, path) = place();
    let (mut store, id) = filled(&path, &sample::events());
    store.remove(id).unwrap();
    for error in [store.events(id).unwrap_err(), store.remove(id).unwrap_err()] {
        assert_says(&error, StoreErrorKind::NoSuchSession, &path, &["no session 1"]);
    }
    let left: i64 = rusqlite::Connection::open(&path)
        .unwrap()
        .query_row("SELECT count(*) FROM events", [], |r| r.get(0))
        .unwrap();
    assert_eq!(left, 0);
    assert_eq!(store.begin(&head(), "t").unwrap(), SessionId(2));
    assert!(store.append(id, &sample::started()).is_err(), "nothing is added to what is gone");
}

#[test]
fn what_is_no_store_is_refused_and_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let garbage = folder.path().join("garbage.db");
    let content = b"This is a shopping list, long enough to be taken for pages.\n".repeat(200);
    fs::write(&garbage, &content).unwrap();
    let error = Store::open(&garbage).unwrap_err();
    assert_says(&error, StoreErrorKind::NotOurs, &garbage, &["no database", "--store"]);
    assert_eq!(fs::read(&garbage).unwrap(), content);

    let foreign = folder.path().join("foreign.db");
    change(&foreign, "CREATE TABLE recipes(a)");
    let error = Store::open(&foreign).unwrap_err();
    assert_says(&error, StoreErrorKind::NotOurs, &foreign, &["another program"]);

    let error = Store::open(folder.path()).unwrap_err();
    assert_says(&error, StoreErrorKind::NotOurs, folder.path(), &["it is a folder"]);

    let below_a_file = garbage.join("s.db");
    let error = Store::open(&below_a_file).unwrap_err();
    assert_says(&error, StoreErrorKind::Environment, &below_a_file, &["no folder"]);
}

#[test]
fn a_store_of_a_newer_version_says_so_and_is_left_as_it_was() {
    let (_folder, path) = place();
    drop(filled(&path, &sample::events()));
    change(&path, "PRAGMA user_version = 7");
    for error in [Store::open(&path).unwrap_err(), Store::open_existing(&path).unwrap_err()] {
        assert_says(&error, StoreErrorKind::Newer, &path, &["newer sweetspot", "format 7"]);
    }
}

#[test]
fn a_damaged_store_says_so_and_never_panics() {
    let (_folder, path) = place();
    drop(filled(&path, &sample::events()));
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096..].fill(0xA5);
    fs::write(&path, bytes).unwrap();
    let error = Store::open(&path)
        .and_then(|store| store.events(SessionId(1)).map(drop))
        .expect_err("every page but the first is damaged");
    assert_says(&error, StoreErrorKind::NotOurs, &path, &["damaged", ".recover"]);
}

#[test]
fn a_store_that_is_not_there_is_not_made_by_reading() {
    let (_folder, path) = place();
    let error = Store::open_existing(&path).unwrap_err();
    assert_says(&error, StoreErrorKind::Missing, &path, &["no such file", "--store"]);
    assert!(!path.exists());
}

#[test]
fn without_permission_a_store_cannot_be_written_but_can_be_read() {
    let (folder, path) = place();
    let (store, id) = filled(&path, &sample::events());
    drop(store);
    set_mode(&path, 0o444);
    set_mode(folder.path(), 0o555);
    let new = folder.path().join("new.db");
    let (write, create, read) = as_nobody(|| {
        let read = Store::open_existing(&path).and_then(|store| store.events(id));
        (Store::open(&path).map(drop), Store::open(&new).map(drop), read)
    });
    set_mode(folder.path(), 0o700);
    let parts = ["this user may not write", "--store"];
    assert_says(&write.unwrap_err(), StoreErrorKind::Permission, &path, &parts);
    assert_says(&create.unwrap_err(), StoreErrorKind::Permission, &new, &parts);
    assert_eq!(read.unwrap(), sample::events());
}

#[test]
fn a_writable_file_in_a_folder_that_is_not_is_refused_for_writing() {
    let (folder, path) = place();
    let (store, id) = filled(&path, &sample::events());
    drop(store);
    set_mode(&path, 0o666);
    set_mode(folder.path(), 0o555);
    let (write, read) = as_nobody(|| {
        let read = Store::open_existing(&path).and_then(|store| store.events(id));
        (Store::open(&path).map(drop), read)
    });
    set_mode(folder.path(), 0o700);
    let parts = ["or the folder it lies in", "--store"];
    assert_says(&write.unwrap_err(), StoreErrorKind::Permission, &path, &parts);
    assert_eq!(read.unwrap(), sample::events());
}

/// Appends until the disk is full; what was appended before must still be there.
fn fill_up(path: &Path) {
    let (mut store, id) = filled(path, &[]);
    let noise = "x".repeat(20_000);
    let mut appended = 0;
    let error = loop {
        let warning = Warning::verbatim("noise", &noise, "");
        match store.append(id, &sample::event(f64::from(appended), EventKind::Warned(warning))) {
            Ok(()) => appended += 1,
            Err(error) => break error,
        }
        assert!(appended < 10_000, "the disk never got full");
    };
    assert_says(&error, StoreErrorKind::Full, path, &["no space is left", "--store"]);
    let events = store.events(id).unwrap();
    assert_eq!(events.len(), usize::try_from(appended).unwrap(), "whole events and all of them");
    assert!(appended > 0);
}

/// A small file system in a mount namespace of the calling thread's own: it is gone with the
/// thread. `None` where this user may not mount.
pub fn mount_small_disk(at: &Path) -> Option<()> {
    use std::ffi::CString;
    let path = CString::new(at.to_str().unwrap()).unwrap();
    let size = c"size=1m";
    // SAFETY: every pointer is null or a C string that outlives the call.
    unsafe {
        if libc::unshare(libc::CLONE_NEWNS) != 0 {
            return None;
        }
        let private = libc::MS_REC | libc::MS_PRIVATE;
        let none = std::ptr::null();
        if libc::mount(none, c"/".as_ptr(), none, private, none.cast()) != 0 {
            return None;
        }
        let kind = c"tmpfs".as_ptr();
        let mounted = libc::mount(kind, path.as_ptr(), kind, 0, size.as_ptr().cast());
        (mounted == 0).then_some(())
    }
}

/// Whatever room is left when a session begins: what could be stored is there in whole events, the
/// rest is refused with the reason, and once there is room again the store is as good as new.
#[test]
fn a_disk_may_get_full_at_any_write_of_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let (disk, path) = (folder.path(), folder.path().join(".sweetspot/s.db"));
    let fill = |room: usize| {
        fs::write(disk.join("other files"), vec![b'x'; (1 << 20) - room]).unwrap();
        let stored = store_as_much_as_fits(&path);
        fs::remove_file(disk.join("other files")).unwrap();
        let Ok(mut store) = Store::open(&path) else { panic!("with room for {room}") };
        for row in store.sessions().unwrap() {
            assert_eq!(store.events(row.id).unwrap(), sample::events()[..stored]);
            store.remove(row.id).unwrap();
        }
        drop(store);
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
        stored
    };
    let stored: Option<Vec<usize>> = std::thread::scope(|scope| {
        let rooms = (0..).map(|pages: usize| pages * 8192).take_while(|room| *room < 1 << 20);
        let thread = scope.spawn(|| mount_small_disk(disk).map(|()| rooms.map(fill).collect()));
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let Some(stored) = stored else { return eprintln!("not run: only root may mount a disk") };
    let all = sample::events().len();
    assert_eq!((stored.first(), stored.last()), (Some(&0), Some(&all)));
    assert!(stored.iter().any(|events| (1..all).contains(events)), "{stored:?}");
}

/// How many of the sample's events there was room for.
fn store_as_much_as_fits(path: &Path) -> usize {
    let refused = |error: &StoreError| {
        assert_says(error, StoreErrorKind::Full, path, &["no space is left", "--store"]);
        0
    };
    let mut store = match Store::open(path) {
        Ok(store) => store,
        Err(error) => return refused(&error),
    };
    let id = match store.begin(&head(), "2026-11-20T18:46:44Z") {
        Ok(id) => id,
        Err(error) => return refused(&error),
    };
    let events = sample::events();
    let failed = events.iter().position(|event| match store.append(id, event) {
        Ok(()) => false,
        Err(error) => refused(&error) == 0,
    });
    failed.unwrap_or(events.len())
}

const FULL_DISK_STORE: &str = "SWEETSPOT_TEST_FULL_DISK_STORE";

#[test]
fn a_full_disk_is_named_and_what_was_stored_before_is_kept() {
    if let Some(path) = std::env::var_os(FULL_DISK_STORE) {
        return fill_up(&PathBuf::from(path));
    }
    let folder = tempfile::tempdir().unwrap();
    let is_done = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            mount_small_disk(folder.path()).map(|()| fill_up(&folder.path().join("s.db")))
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).is_some()
    });
    if is_done {
        assert!(!folder.path().join("s.db").exists(), "the small disk is gone with its thread");
        return;
    }
    // Not allowed to mount: this same test in a process that may not write more than a megabyte.
    let mut again = Command::new(std::env::current_exe().unwrap());
    again
        .args([
            "--exact",
            "sessions::store::a_full_disk_is_named_and_what_was_stored_before_is_kept",
        ])
        .env(FULL_DISK_STORE, folder.path().join("s.db"));
    crate::failures::limit_file_size(&mut again, 1 << 20);
    let output = again.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
