// The list of users, and the form that makes one.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Button } from "react-aria-components";
import type { Access } from "../../api/access.ts";
import { ask, type Request } from "../../api/client.ts";
import { go, type Place } from "../../place.ts";
import { t } from "../../text/text.ts";
import { CopyCurl } from "../../ui/curl.tsx";
import { PlaceLink } from "../../ui/link.tsx";
import { Problem, Waiting } from "../../ui/states.tsx";
import { type Account, mayUser, useChange, useRoles } from "./api.ts";

const most = 50; // users of a page

export function Users({ access, place }: { access: Access; place: Place }) {
  const search = place.query.get("q") ?? "";
  const from = Number(place.query.get("from") ?? 0);
  const [adding, setAdding] = useState(false);
  const found = { $containsi: search };
  const request: Request = {
    path: "users",
    query: {
      sort: "username", start: from, limit: most + 1, populate: "role",
      ...(search ? { filters: { $or: [{ username: found }, { email: found }] } } : {}),
    },
  };
  const { data, error, refetch } = useQuery({
    queryKey: ["people", "users", search, from],
    queryFn: async ({ signal }) => (await ask<Account[]>({ ...request, signal })).body,
    placeholderData: keepPreviousData,
  });
  const show = (query: Record<string, string>) => go(["people", "users"], new URLSearchParams(query), true);
  const page = (start: number) => show({ ...(search ? { q: search } : {}), from: String(start) });
  return (
    <>
      <header className="row">
        <h1>{t("people.users")}</h1>
        <input
          type="search"
          aria-label={t("people.search")}
          placeholder={t("people.search")}
          value={search}
          onChange={(event) => show(event.target.value ? { q: event.target.value } : {})}
        />
        {mayUser(access, "create") && <Button className="button" onPress={() => setAdding(!adding)}>{t("people.add")}</Button>}
        <CopyCurl request={request} />
      </header>
      {adding && <NewUser access={access} onDone={() => setAdding(false)} />}
      {error && <Problem error={error} retry={() => void refetch()} />}
      {!data && !error && <Waiting />}
      {data?.length === 0 && <p className="quiet">{t("people.noUsers")}</p>}
      <ul className="events">
        {data?.slice(0, most).map((user) => (
          <li key={String(user.id)}>
            <span className="of">
              <PlaceLink to={["people", "users", String(user.id)]}>{user.username}</PlaceLink> <span className="quiet">{user.email}</span>
            </span>
            {user.role && <span>{user.role.name}</span>}
            {user.blocked && <span className="badge stopped">{t("people.blocked")}</span>}
          </li>
        ))}
      </ul>
      {data && (from > 0 || data.length > most) && (
        <div className="row">
          <Button className="button" isDisabled={from === 0} onPress={() => page(Math.max(0, from - most))}>{t("schedules.less")}</Button>
          <Button className="button" isDisabled={data.length <= most} onPress={() => page(from + most)}>{t("schedules.more")}</Button>
        </div>
      )}
    </>
  );
}

function NewUser({ access, onDone }: { access: Access; onDone: () => void }) {
  const roles = useRoles(access);
  const { change, said, busy } = useChange();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const body = Object.fromEntries(["username", "email", "password", "role"].map((name) => [name, String(form.get(name) ?? "")]));
    if (await change({ method: "POST", path: "users", body: { ...body, confirmed: true } })) onDone();
  };
  return (
    <form className="card" onSubmit={(event) => void submit(event)}>
      <label>{t("people.name")} <input name="username" required autoComplete="off" /></label>
      <label>{t("people.email")} <input name="email" type="email" required autoComplete="off" /></label>
      <label>{t("people.password")} <input name="password" type="password" required autoComplete="new-password" /></label>
      <label>
        {t("people.role")}{" "}
        {roles.length > 0
          ? <select name="role">{roles.map((role) => <option key={role.type} value={role.type}>{role.name}</option>)}</select>
          : <input name="role" required defaultValue="authenticated" />}
      </label>
      {said?.failed && <p role="alert" className="problem">{said.text}</p>}
      <div className="row"><Button type="submit" className="button primary" isDisabled={busy}>{t("people.add")}</Button></div>
    </form>
  );
}
