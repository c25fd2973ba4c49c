// The desk: who is logged in sees the view of the address, everybody else the form to log in.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { accessQuery } from "./api/access.ts";
import { Failure } from "./api/client.ts";
import { session } from "./api/session.ts";
import "./desk.css";
import { place } from "./place.ts";
import { language, t } from "./text/text.ts";
import { Problem, Waiting } from "./ui/states.tsx";
import { loadAhead } from "./views/list/load.ts";
import { Login } from "./views/login.tsx";
import { Shell } from "./views/shell.tsx";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (count, err) => count < 2 && err instanceof Failure && (err.status === 0 || err.status >= 500),
      refetchOnWindowFocus: true,
    },
  },
});

// linkIn returns the code of a link that logs in, and takes it out of the address, so that it stays in no history.
function linkIn(): string | null {
  const code = /^#link=([A-Z2-7]+)$/.exec(location.hash)?.[1] ?? null;
  if (code) history.replaceState(null, "", location.pathname + location.search);
  return code;
}

// prepare asks for what the page shows first, while the page is made.
function prepare(): void {
  queries.fetchQuery(accessQuery).then((access) => loadAhead(queries, access, place()), () => {}); // views ask again
}

type Who = "asking" | "nobody" | "somebody";

function Desk({ link }: { link: string | null }) {
  const [who, setWho] = useState<Who>("asking");
  const [problem, setProblem] = useState<unknown>(null);
  const [ended, setEnded] = useState(false);

  const begin = () => {
    setProblem(null);
    const begun = link ? session.login({ link }).then(() => "") : session.token();
    begun.then((token) => setWho(token === null ? "nobody" : "somebody"), (err) => {
      if (link) setWho("nobody"); // a password does as well
      setProblem(err);
    });
  };
  useEffect(begin, []);
  useEffect(() =>
    session.watch(() => {
      if (session.isOpen()) {
        prepare();
        return setWho("somebody");
      }
      setEnded(true);
    }), []);

  if (who === "asking") return problem ? <Problem error={problem} retry={begin} /> : <Waiting />;
  if (who === "nobody") return <Login problem={problem} onDone={() => setWho("somebody")} />;
  return (
    <>
      <Shell />
      {ended && <Login isOver onDone={() => setEnded(false)} />}
    </>
  );
}

document.documentElement.lang = language;
document.title = t("app.name");
const root = document.getElementById("desk");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Desk link={linkIn()} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
