// Where the page begins. The document has plain tables for browsers without JavaScript; they are
// hidden once everything is drawn, and stay, with a sentence, when anything goes wrong.

import { render } from "preact";

import { App } from "./App";
import { CannotShow, decode } from "./decode";
import { preferred } from "./preferred";
import { parse } from "./route";
import "./style/page.css";
import { wordsOf } from "./words";

const KINDS = ["session", "compare", "lab"];

async function begin(): Promise<void> {
  const data = document.getElementById("data");
  const root = document.getElementById("page");
  if (!root) return;
  // Marks in the browser's timeline, which show where the time goes.
  performance.mark("sweetspot-begin");
  try {
    const page = data ? await decode(data.textContent ?? "") : null;
    performance.mark("sweetspot-decoded");
    if (page && !KINDS.some((kind) => kind in page)) throw new CannotShow("nothing in it");
    render(<App page={page} />, root);
    document.getElementById("static")?.setAttribute("hidden", "");
    document.documentElement.dataset["drawn"] = "yes";
    performance.mark("sweetspot-drawn");
  } catch (error) {
    render(null, root);
    root.replaceChildren(saying(error));
  }
}

function saying(error: unknown): HTMLElement {
  const words = wordsOf(parse(location.hash, preferred()).language);
  const line = document.createElement("p");
  line.className = "problem";
  line.setAttribute("role", "alert");
  const reason = error instanceof Error ? error.message : String(error);
  const what = error instanceof CannotShow ? words.other_format : words.unreadable;
  line.textContent = `${what} (${reason})`;
  return line;
}

void begin();
