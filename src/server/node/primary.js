// Started in place of the app. One worker is the app itself, as most run it, and so is an app that
// makes its workers, as many as WEB_CONCURRENCY says; any other is run in workers of ours, also one
// that makes its own: there it takes itself for a worker. Where its texts show no cluster and a package
// makes one all the same, one worker of that is left.
'use strict';
const cluster = require('cluster');

const ENTRY = OUR_ENTRY;
const NUMBER = OUR_WORKERS;
const { maker, follows } = looks(ENTRY);

process.argv[1] = ENTRY;
if (maker === undefined && NUMBER === 1) {
  const usual = cluster.fork;
  cluster.fork = (...given) => {
    const living = Object.values(cluster.workers).find((worker) => !worker.isDead());
    return living || usual.apply(cluster, given);
  };
}
if (maker === undefined ? NUMBER === 1 : follows) {
  require('module').runMain();
} else {
  process.title = 'node: primary';
  (cluster.setupPrimary || cluster.setupMaster).call(cluster, { exec: ENTRY });
  cluster.on('exit', () => {
    if (!process[Symbol.for('sweetspot')].isEnding) cluster.fork();
  });
  for (let made = 0; made < NUMBER; made += 1) cluster.fork();
}
