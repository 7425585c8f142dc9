// What the texts of an app show, without running it: of its entry and of the modules of its own, at
// most 200, that these lead to. One of them may make the cluster.
function looks(entry) {
  const { dirname, resolve } = require('path');
  const texts = new Map();
  for (const left = [entry]; left.length > 0 && texts.size < 200;) {
    try {
      const file = require.resolve(left.shift());
      if (texts.has(file) || (texts.size > 0 && !/\.[cm]?[jt]s$/.test(file))) continue;
      let text = require('fs').readFileSync(file, 'utf8');
      text = text.replace(/\/\*[^]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
      texts.set(file, text);
      const named = text.match(/['"]\.\.?\/[^'"\n]+['"]/g) || [];
      named.forEach((name) => left.push(resolve(dirname(file), name.slice(1, -1))));
    } catch {
      // What is wrong with it is said when it is run.
    }
  }
  const [text = '', ...others] = texts.values();
  const names = (it) => /['"](node:)?cluster['"]|['"]throng['"]/.test(it);
  // A module may also ask whether it is in a worker.
  const maker = names(text) ? text : others.find((it) => names(it) && /\bfork\b|throng/.test(it));
  const follows = maker !== undefined && /\bWEB_CONCURRENCY\b/.test(maker);
  return { text, maker, follows };
}
