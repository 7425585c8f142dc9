// Started where several workers are asked for. An app that makes them itself, as many as
// WEB_CONCURRENCY says, is run as it is; any other is run in workers of ours.
'use strict';
const cluster = require('cluster');

const ENTRY = OUR_ENTRY;
const { forks, follows } = looks(ENTRY);

process.argv[1] = ENTRY;
if (forks && follows) {
  require('module').runMain();
} else {
  process.title = 'node: primary';
  (cluster.setupPrimary || cluster.setupMaster).call(cluster, { exec: ENTRY });
  cluster.on('exit', () => {
    if (!process[Symbol.for('sweetspot')].isEnding) cluster.fork();
  });
  for (let made = 0; made < WORKERS; made += 1) cluster.fork();
}
