// How a webhook is doing.
import { language, t } from "../../text/text.ts";
import type { Webhook } from "./api.ts";

export function State({ hook }: { hook: Webhook }) {
  return (
    <p>
      <span className={`badge ${hook.state}`}>{t(`hooks.state.${hook.state}`)}</span> <code>{hook.url}</code>
      {hook.reason && <span className="problem"> {hook.reason}</span>}
    </p>
  );
}

export function Facts({ hook }: { hook: Webhook }) {
  const counts = { waiting: hook.waiting, unread: hook.unread, dead: hook.dead, delivered: hook.delivered, failed: hook.failed };
  return (
    <dl className="facts">
      {Object.entries(counts).map(([name, n]) => (
        <div key={name}>
          <dt>{t(`hooks.${name as keyof typeof counts}`)}</dt>
          <dd>{n.toLocaleString(language)}</dd>
        </div>
      ))}
      <div className="wide">
        <dt>{t("hooks.events")}</dt>
        <dd>{hook.events.join(", ")}</dd>
      </div>
      <div className="wide">
        <dt>{t("hooks.types")}</dt>
        <dd>{hook.types?.join(", ") ?? t("hooks.allTypes")}</dd>
      </div>
    </dl>
  );
}
