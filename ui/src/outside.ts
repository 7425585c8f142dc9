// Values that came from outside (names, URLs, a server's last lines) are text and nothing else.
// Preact and Plot never read them as markup; what is left are characters that act on the text
// around them.

/** Control characters as their pictures, so that an escape code is seen and does nothing. */
export function visible(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g, (c) =>
    c === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + c.charCodeAt(0)),
  );
}

/** For places that take no `<bdi>` (SVG, labels, options): what turns the direction of text ends
 * with the value. */
export function isolated(text: string): string {
  return `\u2068${visible(text)}\u2069`;
}
