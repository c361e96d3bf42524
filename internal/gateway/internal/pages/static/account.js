// The account of whoever is signed in.
import { $, Failure, call, data, explain, go } from "./common.js";
import { profile, password, remove } from "./profile.js";
import { factor, passkeys } from "./factors.js";
import { apps } from "./apps.js";
import { links } from "./links.js";
import { sessions, tokens } from "./sessions.js";

$("signout").addEventListener("click", async () => {
  await call("POST", "/v2/logout", undefined, { session: true });
  await go("/signedout");
});

const signIn = () => go(`/signin?return_to=${encodeURIComponent(location.pathname)}`);

async function open() {
  if (!data.signed) return signIn();
  let me;
  try {
    me = await call("GET", "/v2/me");
  } catch (failure) {
    if (failure.status === 401) return signIn();
    throw failure;
  }
  if (me.anonymous || me.mfaRequired) return signIn();
  profile(me);
  password(me);
  remove();
  $("content").hidden = false;
  await Promise.all([factor(me), passkeys(), links(), sessions(), apps(), tokens()]);
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

open().catch((failure) => {
  $("content").hidden = false;
  $("who").textContent = failure instanceof Failure ? explain(failure) : String(failure);
});
