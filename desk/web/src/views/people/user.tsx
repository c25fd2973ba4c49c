// One user: name, address, role, block, and where they are logged in.
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Button } from "react-aria-components";
import type { Access } from "../../api/access.ts";
import { ask, type Request } from "../../api/client.ts";
import type { Json } from "../../api/json.ts";
import { go } from "../../place.ts";
import { t } from "../../text/text.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { CopyCurl } from "../../ui/curl.tsx";
import { PlaceLink } from "../../ui/link.tsx";
import { Problem, Waiting } from "../../ui/states.tsx";
import { type Account, isSelf, may, mayUser, type SessionOf, timeOf, useChange, useRoles } from "./api.ts";

interface Asked {
  question: string;
  verb: string;
  request: Request;
  gone?: boolean;
}

export function User({ access, id }: { access: Access; id: string }) {
  const roles = useRoles(access);
  const { change, said, busy } = useChange();
  const [asked, setAsked] = useState<Asked | null>(null);
  const request: Request = { path: `users/${encodeURIComponent(id)}`, query: { populate: "role" } };
  const { data: user, error, refetch } = useQuery({
    queryKey: ["people", "users", id],
    queryFn: async ({ signal }) => (await ask<Account | null>({ ...request, signal })).body,
  });
  if (error) return <Problem error={error} retry={() => void refetch()} />;
  if (user === undefined) return <Waiting />;
  if (user === null) return <p className="problem">{t("app.notFound")}</p>;
  const self = isSelf(access, user);
  const put = (body: Json): Request => ({ method: "PUT", path: request.path, body });
  // What may lock the reader out is asked first; so is what others notice.
  const sure = (question: string, verb: string, what: Request, gone = false) =>
    setAsked({ question: self ? `${question} ${t("people.self")}` : question, verb, request: what, gone });
  const run = async (what: Asked) => {
    setAsked(null);
    if ((await change(what.request)) && what.gone) go(["people", "users"]);
  };
  const save = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "");
    const role = text("role");
    const password = text("password");
    const what = put({
      username: text("username"), email: text("email"),
      ...(role && role !== user.role?.type ? { role } : {}), ...(password ? { password } : {}),
    });
    if (role && role !== user.role?.type && self) sure(t("people.sureRole", { name: user.username, role }), t("people.save"), what);
    else if (password) sure(t("people.surePassword", { name: user.username }), t("people.save"), what);
    else void change(what);
  };
  return (
    <section className="column people">
      <header className="row">
        <h1>{user.username}</h1>
        {user.blocked && <span className="badge stopped">{t("people.blocked")}</span>}
        <PlaceLink to={["people", "users"]}>{t("people.back")}</PlaceLink>
        <CopyCurl request={request} />
      </header>
      <p role="status" className={said?.failed ? "problem" : "said"}>{said?.text}</p>
      {mayUser(access, "update") && (
        <form className="card" key={`${user.username} ${user.email} ${user.role?.type}`} onSubmit={save}>
          <label>{t("people.name")} <input name="username" required defaultValue={user.username} autoComplete="off" /></label>
          <label>{t("people.email")} <input name="email" type="email" required defaultValue={user.email} autoComplete="off" /></label>
          {roles.length > 0 && user.role && (
            <label>
              {t("people.role")}{" "}
              <select name="role" defaultValue={user.role.type}>
                {roles.map((role) => <option key={role.type} value={role.type}>{role.name}</option>)}
              </select>
            </label>
          )}
          <label>{t("people.newPassword")} <input name="password" type="password" autoComplete="new-password" /></label>
          <div className="row"><Button type="submit" className="button primary" isDisabled={busy}>{t("people.save")}</Button></div>
        </form>
      )}
      <div className="row">
        {mayUser(access, "update") && (
          <Button
            className="button"
            isDisabled={busy}
            onPress={() => user.blocked
              ? void change(put({ blocked: false }))
              : sure(t("people.sureBlock", { name: user.username }), t("people.block"), put({ blocked: true }))}
          >
            {t(user.blocked ? "people.unblock" : "people.block")}
          </Button>
        )}
        {mayUser(access, "destroy") && (
          <Button
            className="button danger"
            isDisabled={busy}
            onPress={() => sure(t("people.sureDelete", { name: user.username }), t("people.delete"), { method: "DELETE", path: request.path }, true)}
          >
            {t("people.delete")}
          </Button>
        )}
      </div>
      {may(access, "lectern::session.find") && <Sessions access={access} id={id} />}
      {asked && <Confirm question={asked.question} verb={asked.verb} onNo={() => setAsked(null)} onYes={() => void run(asked)} />}
    </section>
  );
}

function Sessions({ access, id }: { access: Access; id: string }) {
  const { change, said, busy } = useChange();
  const [ending, setEnding] = useState<SessionOf | null>(null);
  const request: Request = { path: "_sessions", query: { user: id } };
  const { data, error, refetch } = useQuery({
    queryKey: ["people", "sessions", id],
    queryFn: async ({ signal }) => (await ask<{ data: SessionOf[] }>({ ...request, signal })).body.data,
  });
  const end = (session: SessionOf) => {
    setEnding(null);
    void change({ method: "DELETE", path: `_sessions/${session.id}` });
  };
  return (
    <section aria-label={t("people.sessions")}>
      <header className="row">
        <h2>{t("people.sessions")}</h2>
        <CopyCurl request={request} />
      </header>
      <p role="status" className={said?.failed ? "problem" : "said"}>{said?.text}</p>
      {error && <Problem error={error} retry={() => void refetch()} />}
      {data?.length === 0 && <p className="quiet">{t("people.noSessions")}</p>}
      <ul className="events">
        {data?.map((session) => (
          <li key={session.id}>
            <span className="of">
              {session.deviceId ?? t("people.device")}
              {session.current && <> <span className="badge on">{t("people.current")}</span></>}
            </span>
            <span className="quiet">{t("people.times", { login: timeOf(session.loginAt), active: timeOf(session.lastActiveAt) })}</span>
            {may(access, "lectern::session.revoke") && (
              <Button className="button" isDisabled={busy} onPress={() => (session.current ? setEnding(session) : end(session))}>{t("people.end")}</Button>
            )}
          </li>
        ))}
      </ul>
      {ending && <Confirm question={t("people.sureEnd")} verb={t("people.end")} onNo={() => setEnding(null)} onYes={() => end(ending)} />}
    </section>
  );
}
