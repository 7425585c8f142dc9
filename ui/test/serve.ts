// What `sweetspot serve` is to the page, for tests: the api on a port of its own, behind a token
// in the address, with a stream of events that the test sends.

import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import type { ListRow, Page, Predictions } from "../src/data";
import type { LiveMessages } from "../src/live";
import { html } from "./document";

export interface Fake {
  address: string;
  /** Every path that was asked for, without the token. */
  asked: string[];
  send: <Kind extends keyof LiveMessages>(kind: Kind, value: LiveMessages[Kind]) => void;
  /** Ends all streams, as a program that is restarted does. */
  drop: () => void;
  streams: () => number;
  close: () => Promise<void>;
}

export interface Served {
  sessions: ListRow[];
  page: (id: number) => Page | null;
  compare?: Page;
  predict?: (asked: URLSearchParams) => Predictions;
}

const TOKEN = "/t0ken/";

export async function serve(served: Served): Promise<Fake> {
  const asked: string[] = [];
  const streams = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    const path = url.pathname.startsWith(TOKEN) ? url.pathname.slice(TOKEN.length) : null;
    asked.push((path ?? url.pathname) + url.search);
    const json = (value: unknown, status = 200) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    const id = Number(/^api\/sessions\/(\d+)/.exec(path ?? "")?.[1]);
    if (path === "") {
      response.writeHead(200, { "content-type": "text/html" });
      response.end(html(null));
    } else if (path === "api/sessions") json(served.sessions);
    else if (path === "api/compare" && served.compare) json(served.compare);
    else if (path === "api/predict" && served.predict) json(served.predict(url.searchParams));
    else if (path?.endsWith("/live")) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      // Sooner again than a browser would of its own.
      response.write("retry: 50\n\n");
      streams.add(response);
      response.on("close", () => streams.delete(response));
    } else {
      const page = Number.isInteger(id) ? served.page(id) : null;
      if (page) json(page);
      else json({ error: `there is no ${path}` }, 404);
    }
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  return {
    address: `http://127.0.0.1:${port}${TOKEN}`,
    asked,
    send: (kind, value) => {
      const event = `event: ${kind}\ndata: ${JSON.stringify(value)}\n\n`;
      for (const stream of streams) stream.write(event);
    },
    drop: () => {
      for (const stream of streams) stream.destroy();
    },
    streams: () => streams.size,
    close: () => new Promise((done) => {
      for (const stream of streams) stream.destroy();
      server.closeAllConnections();
      server.close(() => done());
    }),
  };
}
