// Loaded into every process of the app before the app itself: says when one serves, has it listen
// where it is asked to, and ends it gracefully where the app does not do so itself.
'use strict';
const cluster = require('cluster');
const fs = require('fs');
const net = require('net');
const { isMainThread } = require('worker_threads');

const PORT = OUR_PORT;
const SOCKET = OUR_SOCKET;
// An app that first opens another port, such as one for metrics, gets so long to open its own, or to
// make workers that do.
const PATIENCE_MS = 5000;
const ELSEWHERE = 78;

const say = (text) => {
  try {
    fs.writeSync(2, `sweetspot: ${text}\n`);
  } catch {
    // Nobody listens any more.
  }
};

const workers = () => Object.values(cluster.workers || {});
// A helper that the app forks need not serve, nor need a primary whose workers do.
const hasToServe = () => cluster.isWorker || (!process.send && workers().length === 0);
const servers = new Set();
let isServing = false;
// Seen by the primary that we put around an app.
const state = { isEnding: false };
process[Symbol.for('sweetspot')] = state;

function heard(server) {
  servers.add(server);
  server.once('close', () => servers.delete(server));
  const address = server.address();
  const isOurs = SOCKET === null ? address && address.port === PORT : address === SOCKET;
  if (isOurs && !isServing) {
    isServing = true;
    say(`worker ${process.pid} is ready`);
  } else if (!isOurs) {
    const where = address && address.port ? `port ${address.port}` : address;
    setTimeout(() => {
      if (isServing || !hasToServe()) return;
      say(`failed: the app listens on ${where}, not where the variable PORT says: ` +
        'let it listen on process.env.PORT');
      process.exit(ELSEWHERE);
    }, PATIENCE_MS);
  }
}

// The port that PORT names is opened on loopback only, or as the socket behind a proxy.
function moved(given) {
  const [options, done] = net._normalizeArgs(given);
  if (!options || options.port == null || Number(options.port) !== PORT) return given;
  const { port, host, path, ...others } = options;
  const place = SOCKET === null ? { port, host: '127.0.0.1' } : { path: SOCKET };
  return done ? [{ ...others, ...place }, done] : [{ ...others, ...place }];
}

function watchServers() {
  const usual = net.Server.prototype.listen;
  net.Server.prototype.listen = function listen(...given) {
    // What the cluster opens on behalf of its workers is none of the app's.
    if (workers().length > 0) return usual.apply(this, given);
    this.once('listening', () => heard(this));
    return usual.apply(this, moved(given));
  };
}

function watchWorkers() {
  const listening = new WeakSet();
  cluster.on('fork', (worker) => {
    process.title = 'node: primary';
    if (state.isEnding) worker.process.kill('SIGKILL');
  });
  cluster.on('listening', (worker) => listening.add(worker));
  cluster.on('exit', (worker) => {
    if (!state.isEnding && !listening.has(worker)) {
      say(`failed: worker ${worker.process.pid} ended before it listened`);
    }
    if (state.isEnding && workers().length === 0) process.exit(0);
  });
}

function end() {
  state.isEnding = true;
  if (workers().length > 0) {
    workers().forEach((worker) => worker.process.kill('SIGTERM'));
    return;
  }
  const leave = () => servers.size === 0 && process.exit(0);
  for (const server of servers) {
    server.close(leave);
  }
  // Connections that are kept open would keep it waiting.
  setInterval(() => servers.forEach((server) => {
    if (server.closeIdleConnections) server.closeIdleConnections();
  }), 50);
  leave();
}

if (isMainThread) {
  if (cluster.isWorker) process.title = 'node: worker';
  watchServers();
  watchWorkers();
  process.on('SIGTERM', () => {
    // An app that ends by itself is left to it.
    if (process.listenerCount('SIGTERM') === 1) end();
  });
}
