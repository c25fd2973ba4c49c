// Where a file is used, as far as the reader may see that.
import type { UseQueryResult } from "@tanstack/react-query";
import type { Access } from "../../api/access.ts";
import type { FileUsage, FileUse } from "../../files/library.ts";
import { t } from "../../text/text.ts";
import { PlaceLink } from "../../ui/link.tsx";
import { Problem, Waiting } from "../../ui/states.tsx";

interface UsageProps {
  access: Access;
  usage: UseQueryResult<FileUsage>;
  may: boolean;
}

export function Usage({ access, usage, may }: UsageProps) {
  if (!may) return <p className="quiet">{t("files.usageUnknown")}</p>;
  if (usage.error) return <Problem error={usage.error} retry={() => void usage.refetch()} />;
  if (!usage.data) return <Waiting />;
  const { data, meta } = usage.data;
  if (data.length === 0 && !meta.hidden) return <p>{t("files.unusedOne")}</p>;
  return (
    <div>
      <h3>{t("files.usage")}</h3>
      <ul>
        {data.map((use) => <li key={`${use.contentType} ${use.documentId} ${use.locale}`}><Document access={access} use={use} /></li>)}
        {meta.pagination.total > data.length && <li>{t("files.more", { n: meta.pagination.total - data.length })}</li>}
        {meta.hidden && <li>{t("files.hidden")}</li>}
      </ul>
    </div>
  );
}

function Document({ access, use }: { access: Access; use: FileUse }) {
  const type = access.contentTypes.find((one) => one.uid === use.contentType);
  const name = use.title || use.documentId;
  const status = type?.schema.draftAndPublish ? use.status.map((one) => t(`files.${one}`)) : [];
  const facts = [type?.schema.displayName ?? use.contentType, use.locale, use.fields.join(", "), ...status].filter(Boolean).join(" · ");
  return (
    <>
      {type ? (
        <PlaceLink to={["content", type.apiID, use.documentId]} query={use.locale ? new URLSearchParams({ locale: use.locale }) : undefined}>
          {name}
        </PlaceLink>
      ) : (
        name
      )}{" "}
      <span className="quiet">{facts}</span>
    </>
  );
}
