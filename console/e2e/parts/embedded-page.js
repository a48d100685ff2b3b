/** The script of a page that is not ours, with a chat in it. */

import "../../../clients/typescript/src/components/chat.css";
import { mountChat } from "../../../clients/typescript/src/components/index.js";

const { url, token } = Object.fromEntries(new URLSearchParams(location.search));
const mounted = mountChat(document.querySelector("#chat"), {
  url,
  headers: () => ({ authorization: `Bearer ${token}` }),
  model: "scripted",
});
document.querySelector("#remove").addEventListener("click", mounted.remove);
