// Webhooks: how each is doing, and of one its attempts, what is tried again, and its dead letters.
import { useQuery } from "@tanstack/react-query";
import { ask } from "../../api/client.ts";
import { t } from "../../text/text.ts";
import { CopyCurl } from "../../ui/curl.tsx";
import { PlaceLink } from "../../ui/link.tsx";
import { Problem, Waiting } from "../../ui/states.tsx";
import type { AreaProps } from "../areas.ts";
import { all, type Webhook } from "./api.ts";
import { Detail } from "./detail.tsx";
import { Facts, State } from "./facts.tsx";
import "./webhooks.css";

const every = 5000; // milliseconds between looks

export default function Webhooks({ access, place }: AreaProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ["webhooks"],
    queryFn: async ({ signal }) => (await ask<{ data: Webhook[] }>({ ...all, signal })).body.data,
    refetchInterval: every,
  });
  const name = place.path[1];
  if (!data) return error ? <Problem error={error} retry={() => void refetch()} /> : <Waiting />;
  if (name === undefined) return <All hooks={data} problem={error} retry={() => void refetch()} />;
  const hook = data.find((candidate) => candidate.name === name);
  if (!hook) return <p className="problem">{t("app.notFound")}</p>;
  return <Detail key={name} access={access} hook={hook} />;
}

function All({ hooks, problem, retry }: { hooks: Webhook[]; problem: unknown; retry: () => void }) {
  return (
    <section className="column">
      <header className="row">
        <h1>{t("hooks.title")}</h1>
        <CopyCurl request={all} />
      </header>
      {problem !== null && <Problem error={problem} retry={retry} />}
      {hooks.length === 0 && <p>{t("hooks.none")}</p>}
      <ul className="column">
        {hooks.map((hook) => (
          <li key={hook.name} className="card hook">
            <h2>
              <PlaceLink to={["webhooks", hook.name]}>{hook.name}</PlaceLink>
            </h2>
            <State hook={hook} />
            <Facts hook={hook} />
          </li>
        ))}
      </ul>
    </section>
  );
}
