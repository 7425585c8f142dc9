// What the text of an app's entry shows, without running it.
function looks(entry) {
  let text = '';
  try {
    text = require('fs').readFileSync(require.resolve(entry), 'utf8');
  } catch {
    // What is wrong with it is said when it is run.
  }
  text = text.replace(/\/\*[^]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  const forks = /['"](node:)?cluster['"]|['"]throng['"]/.test(text);
  const follows = /\bWEB_CONCURRENCY\b/.test(text);
  return { text, forks, follows };
}
