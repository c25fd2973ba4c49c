// CopyCurl puts the request behind a view into the clipboard, as a command for a shell.
import { useState } from "react";
import { Button } from "react-aria-components";
import { curlOf, type Request } from "../api/client.ts";
import { t } from "../text/text.ts";

export function CopyCurl({ request }: { request: Request }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(curlOf(request));
    setDone(true);
  };
  return (
    <Button className="button quiet" onPress={() => void copy()} onBlur={() => setDone(false)}>
      {t(done ? "app.copied" : "app.copyCurl")}
    </Button>
  );
}
