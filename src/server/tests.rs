//! What the tests of several servers have in common.

use super::*;
use crate::report::Language;

/// A server's recipe for listening on a port.
pub fn on_port(adapter: &dyn Adapter, app: &App, workers: u16, threads: u16) -> Recipe {
    launch(adapter, app, &Listen::Port(4000), workers, threads)
}

/// A server's recipe for listening on a socket.
pub fn on_socket(adapter: &dyn Adapter, app: &App, workers: u16, threads: u16) -> Recipe {
    let socket = Listen::Socket("/tmp/scratch/app.sock".into());
    launch(adapter, app, &socket, workers, threads)
}

fn launch(adapter: &dyn Adapter, app: &App, listen: &Listen, workers: u16, threads: u16) -> Recipe {
    let configuration = Configuration::new(workers, threads).unwrap();
    adapter.launch(Launch { app, configuration, listen, scratch: Path::new("/tmp/scratch") })
}

/// Holds a server to the roles that processes have: the number of workers, whether it is the first
/// process, its title, and its role.
pub fn assert_roles(adapter: &dyn Adapter, roles: &[(u16, bool, &str, Role)]) {
    for &(workers, is_root, title, role) in roles {
        let configuration = Configuration::new(workers, 1).unwrap();
        let process = ProcessFacts { is_root, title, serves: false };
        assert_eq!(adapter.role(configuration, process), role, "{workers} workers: {title}");
    }
}

/// Holds a server to the causes that its lines prove.
pub fn assert_causes(adapter: &dyn Adapter, causes: &[(&str, BootFailureKind)]) {
    for (line, cause) in causes {
        assert_eq!(failure::recognise(adapter.about(), &[line.to_string()]), *cause, "{line}");
    }
}

pub fn obeying(workers: Option<&str>, threads: Option<&str>) -> Obeys {
    let (workers, max_threads) = (workers.map(String::from), threads.map(String::from));
    Obeys { workers, max_threads, ..Obeys::default() }
}

pub fn inspection(workers: u16, threads: u16, version: &str, obeys: Obeys) -> Inspection {
    let current = Configuration::new(workers, threads).unwrap();
    Inspection { server_version: version.into(), obeys, ..Inspection::of(current) }
}

/// What a server's users write down, as measured on two cores and 1 GiB.
pub fn settings(
    adapter: &dyn Adapter,
    app: &App,
    inspection: &Inspection,
    workers: u16,
    threads: u16,
) -> Settings {
    let configuration = Configuration::new(workers, threads).unwrap();
    let cores = Cores::new(2.0).unwrap();
    let memory = Bytes(1 << 30);
    let a_pod_less = None;
    adapter.settings(Recommended { app, inspection, configuration, cores, memory, a_pod_less })
}

#[test]
fn every_app_has_a_number_as_its_port_also_behind_a_proxy() {
    let has_port = |framework: &Framework| {
        matches!(framework, Framework::Rack | Framework::Wsgi | Framework::Asgi | Framework::Node)
    };
    for adapter in ADAPTERS {
        let Some(framework) = adapter.about().runs.iter().copied().find(has_port) else { continue };
        let app = App::new("/srv/shop", framework, "main:app");
        let (plain, behind) = (on_port(*adapter, &app, 1, 1), on_socket(*adapter, &app, 1, 1));
        for (recipe, port) in [(plain, "4000"), (behind, "50505")] {
            assert_eq!(recipe.commands[0].env["PORT"], port, "{}", adapter.name());
        }
    }
}

#[test]
fn of_a_php_apps_environment_only_the_users_own_variable_is_known() {
    let app = App::new("/srv/shop", Framework::Php, ".");
    assert_eq!(environment(&app), None);
    let staged = App { env: [("APP_ENV".into(), "staging".into())].into(), ..app };
    assert_eq!(environment(&staged), Some(("staging", Some("APP_ENV"))));
}

#[test]
fn nothing_is_said_of_threads_where_there_are_none() {
    let config = |adapter: &dyn Adapter| adapter.about().config_files.first().map(Into::into);
    for (adapter, framework, variable) in ADAPTERS.iter().flat_map(|adapter| {
        let of_framework = |framework| [None, Some("WEB_CONCURRENCY")].map(|it| (framework, it));
        let all = adapter.about().runs.iter().flat_map(of_framework);
        all.map(|(framework, variable)| (*adapter, *framework, variable))
    }) {
        let app = App::new("/srv/shop", framework, "main:app");
        if adapter.has_threads(&app) || !adapter.is_known() {
            continue;
        }
        for app in [App { server_config: config(adapter), ..app.clone() }, app] {
            let inspection = inspection(1, 1, "1.0", obeying(variable, None));
            let settings = settings(adapter, &app, &inspection, 3, 1);
            let advice = Language::DATA.say_each(&settings.advice).join("\n");
            let all = format!("{}{advice}", settings.config_snippet).to_lowercase();
            // A flag of gunicorn's, which would come before a file, may be named, and libuv's pool.
            let others = all.replace("--threads", "").replace("uv_threadpool_size", "");
            assert!(!others.contains("thread"), "{}: {all}", adapter.name());
        }
    }
}
