// Tells of new questions while nobody looks at the page, for those who want that.

import { visible } from "./dom.js";

const WANTED = "charla-notify";
const known = new Set();
let first = true;

export const isPossible = () => "Notification" in window;
export const isOn = () => isPossible() && Notification.permission === "granted" && localStorage.getItem(WANTED) === "yes";

/** Turns it on, which the browser asks about, or off. */
export async function toggle() {
  const on = !isOn() && (await Notification.requestPermission()) === "granted";
  localStorage.setItem(WANTED, on ? "yes" : "no");
  return on;
}

/** Tells of questions that were not there before. */
export function tell(approvals) {
  const news = approvals.filter((one) => !known.has(one.asked.approval));
  for (const one of news) known.add(one.asked.approval);
  const silent = first || !document.hidden || !isOn();
  first = false;
  if (silent) return;
  for (const one of news) {
    const notification = new Notification("Charla asks", { body: visible(`${one.asked.confirmation.title} · ${one.title}`).slice(0, 200), tag: one.asked.approval });
    notification.onclick = () => {
      window.focus();
      location.hash = one.session;
    };
  }
}
