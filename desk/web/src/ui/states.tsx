// What stands where a view is not there yet, or cannot be.
import { Button } from "react-aria-components";
import { Failure } from "../api/client.ts";
import { t } from "../text/text.ts";

export function Waiting() {
  return <p className="waiting" role="status">{t("app.loading")}</p>;
}

// messageOf returns what to tell people about an error.
export function messageOf(error: unknown): string {
  if (error instanceof Failure) return error.status === 0 ? t("app.offline") : error.message;
  return error instanceof Error ? error.message : String(error);
}

interface ProblemProps {
  error: unknown;
  retry?: () => void;
}

// Problem tells of an error, with the id under which the log of the server has it.
export function Problem({ error, retry }: ProblemProps) {
  const id = error instanceof Failure ? error.id : "";
  return (
    <div className="problem" role="alert">
      <p>{messageOf(error)}</p>
      {id && <p className="quiet">{t("app.request", { id })}</p>}
      {retry && <Button className="button" onPress={retry}>{t("app.retry")}</Button>}
    </div>
  );
}
