// Serves the page of the bench, and passes everything else on to a server of Lectern, so that both have one origin.
import { createReadStream, existsSync } from "node:fs";
import { createServer, request } from "node:http";
import { extname, join } from "node:path";

const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
  "font-src 'self'; base-uri 'none'; form-action 'self'";

export function serve(dist, lectern) {
  return new Promise((resolve) => {
    const server = createServer((req, res) => {
      const path = new URL(req.url, "http://x").pathname;
      if (path.startsWith("/bench/")) {
        const file = join(dist, path === "/bench/" ? "index.html" : path.slice("/bench/".length));
        if (!existsSync(file)) return res.writeHead(404).end();
        res.writeHead(200, { "Content-Type": types[extname(file)] ?? "text/plain", "Content-Security-Policy": policy });
        return createReadStream(file).pipe(res);
      }
      const to = request(lectern + req.url, { method: req.method, headers: req.headers }, (answer) => {
        res.writeHead(answer.statusCode, answer.headers);
        answer.pipe(res);
      });
      to.on("error", () => res.destroy());
      req.pipe(to);
    });
    server.listen(0, "127.0.0.1", () =>
      resolve({ base: `http://127.0.0.1:${server.address().port}`, close: () => server.close() }),
    );
  });
}
