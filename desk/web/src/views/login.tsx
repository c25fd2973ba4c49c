// The form to log in. It stands alone, or over a view whose session has ended, which stays as it is beneath.
import { type FormEvent, useState } from "react";
import { Button, Dialog, Heading, Input, Label, Modal, ModalOverlay, TextField } from "react-aria-components";
import { session } from "../api/session.ts";
import { t } from "../text/text.ts";
import { Problem } from "../ui/states.tsx";

interface LoginProps {
  isOver?: boolean;
  problem?: unknown;
  onDone: () => void;
}

export function Login({ isOver = false, problem = null, onDone }: LoginProps) {
  const [error, setError] = useState<unknown>(problem);
  const [busy, setBusy] = useState(false);

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    try {
      await session.login({ identifier: String(form.get("identifier")), password: String(form.get("password")) });
      onDone();
    } catch (err) {
      setError(err);
    } finally {
      setBusy(false);
    }
  };

  const form = (
    <form onSubmit={(event) => void submit(event)} className="card">
      <Heading level={1} slot={isOver ? "title" : undefined}>{t("login.title")}</Heading>
      {isOver && <p role="status">{t("login.expired")}</p>}
      <TextField name="identifier" isRequired autoFocus>
        <Label>{t("login.identifier")}</Label>
        <Input autoComplete="username" />
      </TextField>
      <TextField name="password" type="password" isRequired>
        <Label>{t("login.password")}</Label>
        <Input autoComplete="current-password" />
      </TextField>
      {error !== null && <Problem error={error} />}
      <Button type="submit" className="button primary" isDisabled={busy}>{t("login.submit")}</Button>
    </form>
  );
  if (!isOver) return <main className="login">{form}</main>;
  return (
    <ModalOverlay className="login over" isOpen isKeyboardDismissDisabled>
      <Modal>
        <Dialog>{form}</Dialog>
      </Modal>
    </ModalOverlay>
  );
}
