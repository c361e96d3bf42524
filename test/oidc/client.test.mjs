// A relying party made with openid-client: it registers itself, signs a person in, and does what it may with the result.
import assert from "node:assert/strict";
import test from "node:test";
import * as client from "openid-client";

const { OIDC_SERVER: server, OIDC_TOKEN: initialAccessToken, OIDC_EMAIL: email, OIDC_PASSWORD: password } = process.env;
const callback = "https://app.test/callback";
const home = "https://app.test/";

// Browser keeps cookies and follows one redirect at a time.
class Browser {
  cookies = new Map();

  async send(url, init = {}) {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(new URL(url, server), { redirect: "manual", ...init, headers: { ...init.headers, cookie, origin: server } });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      if (/max-age=0/i.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return response;
  }

  // follow gives where the server sends the browser.
  async follow(url, init) {
    const response = await this.send(url, init);
    assert.equal(response.status, 303, `${url}: ${await response.text()}`);
    return new URL(response.headers.get("location"));
  }

  json(url, body) {
    return this.send(url, { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  }

  // authorize signs in, agrees, and gives the address that the client is called back at.
  async authorize(url) {
    let at = await this.follow(url);
    const uid = at.searchParams.get("interaction");
    at = await this.follow(`/oidc/interaction/${uid}/login`, { method: "POST", body: new URLSearchParams({ login: email, password }) });
    at = await this.follow(at);
    if (at.searchParams.has("interaction")) {
      const answer = await this.json(`/oidc/interaction/${uid}/consent`, { allow: true });
      at = await this.follow((await answer.json()).redirect);
    }
    return at;
  }
}

const proofs = { client_secret_basic: client.ClientSecretBasic, client_secret_post: client.ClientSecretPost, none: client.None };

// register makes a client; method is how it proves itself.
async function register(method, grants) {
  const config = await client.dynamicClientRegistration(
    new URL(server),
    {
      redirect_uris: [callback], post_logout_redirect_uris: [home], client_name: "Test", token_endpoint_auth_method: method,
      grant_types: grants, scope: "openid profile email offline_access events:read",
    },
    proofs[method](),
    { initialAccessToken, execute: [client.allowInsecureRequests] },
  );
  client.enableNonRepudiationChecks(config); // verify every signature
  return config;
}

for (const method of ["client_secret_basic", "client_secret_post", "none"]) {
  test(`code flow with ${method}`, async () => {
    const config = await register(method, ["authorization_code", "refresh_token"]);
    const browser = new Browser();
    const pkceCodeVerifier = client.randomPKCECodeVerifier();
    const state = client.randomState();
    const nonce = client.randomNonce();
    const back = await browser.authorize(client.buildAuthorizationUrl(config, {
      redirect_uri: callback, scope: "openid profile email offline_access events:read", state, nonce, max_age: "600",
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier), code_challenge_method: "S256",
    }));
    assert.equal(back.origin + back.pathname, callback);
    const tokens = await client.authorizationCodeGrant(config, back, {
      pkceCodeVerifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true, maxAge: 600,
    });
    const { sub } = tokens.claims();
    const info = await client.fetchUserInfo(config, tokens.access_token, sub);
    assert.equal(info.email, email);
    const next = await client.refreshTokenGrant(config, tokens.refresh_token);
    assert.notEqual(next.refresh_token, tokens.refresh_token);
    assert.equal(next.claims().sub, sub);
    assert.equal((await client.tokenIntrospection(config, next.access_token)).active, true);
    await client.tokenRevocation(config, next.access_token);
    assert.equal((await client.tokenIntrospection(config, next.access_token)).active, false);
    const gone = await browser.follow(client.buildEndSessionUrl(config, { id_token_hint: next.id_token, post_logout_redirect_uri: home, state: "bye" }));
    assert.equal(gone.href, `${home}?state=bye`);
    await assert.rejects(client.refreshTokenGrant(config, next.refresh_token), { error: "invalid_grant" });
    await assert.rejects(client.fetchUserInfo(config, tokens.access_token, sub));
  });
}

test("device flow", async () => {
  const config = await register("none", ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"]);
  const browser = new Browser();
  await browser.authorize(client.buildAuthorizationUrl(config, {
    redirect_uri: callback, scope: "openid",
    code_challenge: await client.calculatePKCECodeChallenge(client.randomPKCECodeVerifier()), code_challenge_method: "S256",
  }));
  const device = await client.initiateDeviceAuthorization(config, { scope: "openid offline_access" });
  const answer = await browser.json("/oidc/device/verify", { user_code: device.user_code, allow: true });
  assert.equal(answer.status, 200, await answer.text());
  const tokens = await client.pollDeviceAuthorizationGrant(config, { ...device, interval: 1 });
  assert.ok(tokens.claims().sub);
  assert.ok(tokens.refresh_token);
});
