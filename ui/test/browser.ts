// A browser for tests, and a watch over each page: errors on its console, and anything it asks
// the network for.

import { chromium, type Browser, type Page as Tab } from "playwright-core";

export interface Watched {
  tab: Tab;
  /** Console errors and exceptions. */
  errors: string[];
  /** Addresses beyond the page's own. */
  requests: string[];
}

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
}

export interface Screen {
  width?: number;
  scheme?: "light" | "dark";
  locale?: string;
}

/** Opens the address and waits until the page says that it is drawn. */
export async function open(
  browser: Browser,
  address: string,
  screen: Screen = {},
): Promise<Watched> {
  const context = await browser.newContext({
    viewport: { width: screen.width ?? 1280, height: 900 },
    colorScheme: screen.scheme ?? "light",
    locale: screen.locale ?? "en-US",
    reducedMotion: "reduce",
    ...(address.startsWith("http") ? { permissions: ["clipboard-read", "clipboard-write"] } : {}),
  });
  // A test as a whole has a limit; a wait in it has none of its own, shorter one. They run while
  // the program's tests are compiled.
  context.setDefaultTimeout(0);
  const tab = await context.newPage();
  const watched: Watched = { tab, errors: [], requests: [] };
  tab.on("console", (message) => {
    if (message.type() === "error") watched.errors.push(message.text());
  });
  tab.on("pageerror", (error) => watched.errors.push(String(error)));
  const own = new URL(address);
  await context.route("**/*", (route) => {
    const asked = new URL(route.request().url());
    const isOwn = own.protocol === "file:"
      ? asked.href.split("#")[0] === own.href.split("#")[0]
      : asked.origin === own.origin;
    if (isOwn || asked.protocol === "blob:") return route.continue();
    watched.requests.push(asked.href);
    return route.abort();
  });
  await tab.goto(address);
  await tab.waitForSelector("html[data-drawn], .problem");
  return watched;
}
