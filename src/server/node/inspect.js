// Prints how many processes the app would make here, and starts nothing.
try {
  const path = require('path').resolve(process.argv[1]);
  const { text, maker, follows } = looks(path);
  const cores = require('os').cpus().length;
  // Also as parseInt(process.env.WEB_CONCURRENCY, 10) || 4, and where the number is a text.
  const number = /WEB_CONCURRENCY['"\]\s]*(?:,\s*\d+)?\D{0,12}?(?:\|\||\?\?)\s*['"`]?(\d+)/;
  const own = number.exec(maker);
  const fixed = own ? Number(own[1]) : null;
  const counts = /\.cpus\(\)|availableParallelism\(\)/.test(maker);
  let workers = 1;
  if (maker) workers = fixed || (counts ? cores : 1);
  if (follows) workers = Number(process.env.WEB_CONCURRENCY) || workers;
  const report = {
    workers,
    forks: maker !== undefined,
    follows,
    listens: /\bprocess\.env\.PORT\b|\bPORT\b/.test(text) || !/\.listen\(\s*\d/.test(text),
    node: process.versions.node,
  };
  console.log('\nsweetspot-inspection ' + JSON.stringify(report));
} catch (error) {
  const report = { error: String(error), at: null, server_missing: false };
  console.log('\nsweetspot-inspection ' + JSON.stringify(report));
}
