import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: "primary" | "danger" | "quiet";
  size?: "small";
  icon?: IconName;
  /** Shown to nobody, read to those who listen: for buttons that are an icon only. */
  label?: string;
}

export function Button({ kind, size, icon, label, children, ...rest }: ButtonProps): ReactNode {
  return (
    <button
      type="button"
      className="button"
      data-kind={kind}
      data-size={size}
      data-icon={children === undefined ? "" : undefined}
      aria-label={label}
      title={label}
      {...rest}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
