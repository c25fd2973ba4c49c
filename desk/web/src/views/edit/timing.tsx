// Publishing and unpublishing at a time: what is planned for the document, how to plan it, and how to cancel it.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Button, Dialog, DialogTrigger } from "react-aria-components";
import { type ContentType, isLocalized, isSingle, pathOf } from "../../api/access.ts";
import { ask } from "../../api/client.ts";
import { language, t } from "../../text/text.ts";
import { Box } from "../../ui/popover.tsx";
import { Problem } from "../../ui/states.tsx";

interface Schedule {
  documentId: string;
  action: "publish" | "unpublish";
  at: string;
  state: "pending" | "failed";
  error: { message?: string } | null;
}

interface TimingProps {
  type: ContentType;
  documentId: string;
  locale: string;
}

const mayTime = (type: ContentType) => "publish" in type.actions || "unpublish" in type.actions;

// Planned lists what will happen to a document, or could not.
export function Planned({ type, documentId, locale }: TimingProps) {
  const queries = useQueryClient();
  const [problem, setProblem] = useState<unknown>(null);
  const { data = [], error, refetch } = useQuery({
    queryKey: ["schedules", "of", type.uid, documentId, locale],
    queryFn: async ({ signal }) => (await ask<{ data: Schedule[] }>({ path: "_schedules", query: {
      sort: "at",
      filters: { contentType: type.uid, document: documentId, ...(isLocalized(type) ? { documentLocale: locale } : {}) },
    }, signal })).body.data,
    enabled: mayTime(type) && type.schema.draftAndPublish,
    refetchInterval: (query) => (query.state.data?.length ? 10_000 : false),
  });
  const cancel = async (schedule: Schedule) => {
    setProblem(null);
    try {
      await ask({ method: "DELETE", path: `_schedules/${schedule.documentId}` });
    } catch (err) {
      setProblem(err);
    }
    await queries.invalidateQueries({ queryKey: ["schedules"] });
  };
  return (
    <>
      {error && <Problem error={error} retry={() => void refetch()} />}
      {data.map((schedule) => (
        <div key={schedule.documentId} className="notice row">
          <span>
            {t(`write.${schedule.state === "failed" ? "failed" : "will"}${schedule.action}`, {
              time: new Date(schedule.at).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" }),
              message: schedule.error?.message,
            })}
          </span>
          {schedule.action in type.actions && <Button className="button" onPress={() => void cancel(schedule)}>{t("write.cancelPlan")}</Button>}
        </div>
      ))}
      {problem !== null && <Problem error={problem} />}
    </>
  );
}

// Later asks when to publish and unpublish.
export function Later({ type, documentId, locale }: TimingProps) {
  const queries = useQueryClient();
  const [problem, setProblem] = useState<unknown>(null);
  if (!mayTime(type)) return null;
  const submit = async (event: FormEvent<HTMLFormElement>, close: () => void) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const times = Object.fromEntries(["publishAt", "unpublishAt"].flatMap((name) => {
      const value = form.get(name);
      return value ? [[name, new Date(String(value)).toISOString()]] : [];
    }));
    if (Object.keys(times).length === 0) return; // without a time, the API would do it now
    setProblem(null);
    try {
      await ask({
        method: "POST",
        path: `${pathOf(type)}${isSingle(type) ? "" : `/${documentId}`}/actions/${times.publishAt ? "publish" : "unpublish"}`,
        query: isLocalized(type) ? { locale } : undefined,
        body: { data: times },
        idempotencyKey: crypto.randomUUID(),
      });
      await queries.invalidateQueries({ queryKey: ["schedules"] });
      close();
    } catch (err) {
      setProblem(err);
    }
  };
  return (
    <DialogTrigger onOpenChange={() => setProblem(null)}>
      <Button className="button">{t("write.later")}</Button>
      <Box>
        <Dialog aria-label={t("write.later")}>
          {({ close }) => (
            <form className="column" onSubmit={(event) => void submit(event, close)}>
              <p className="quiet">{t("write.laterLead")}</p>
              {(["publish", "unpublish"] as const).filter((action) => action in type.actions).map((action) => (
                <label key={action} className="column">
                  {t(`write.${action}At`)}
                  <input type="datetime-local" name={`${action}At`} />
                </label>
              ))}
              {problem !== null && <Problem error={problem} />}
              <Button type="submit" className="button primary">{t("write.plan")}</Button>
            </form>
          )}
        </Dialog>
      </Box>
    </DialogTrigger>
  );
}
