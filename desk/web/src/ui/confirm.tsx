// Confirm asks before something that cannot be taken back easily. It shows its children below the question.
import type { ReactNode } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { t } from "../text/text.ts";

interface ConfirmProps {
  question: string;
  verb: string;
  onYes: () => void;
  onNo: () => void;
  children?: ReactNode;
}

export function Confirm({ question, verb, onYes, onNo, children }: ConfirmProps) {
  return (
    <ModalOverlay className="overlay" isOpen isDismissable onOpenChange={(open) => !open && onNo()}>
      <Modal className="modal">
        <Dialog role="alertdialog">
          <Heading slot="title">{question}</Heading>
          {children}
          <div className="row end">
            <Button className="button" onPress={onNo} autoFocus>{t("app.cancel")}</Button>
            <Button className="button danger" onPress={onYes}>{verb}</Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
