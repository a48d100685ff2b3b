// An MCP server that requires a login, and its authorization server, both with the protocol's official
// SDK: `node login.mjs PORT`. Its router checks registration, PKCE, client and token requests.
// Tokens live in memory. `/expire` makes all access tokens invalid, as time would.

import { randomUUID } from "node:crypto";

import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import { InvalidGrantError, InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import {
  getOAuthProtectedResourceMetadataUrl,
  mcpAuthRouter,
} from "@modelcontextprotocol/sdk/server/auth/router.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import express from "express";

const port = Number(process.argv[2]);
const origin = new URL(`http://127.0.0.1:${port}`);
const resource = new URL("/mcp", origin);

/** Keeps clients, codes and tokens. The user agrees to everything. */
class LoginProvider {
  clients = new Map();
  codes = new Map();
  access = new Map();
  refresh = new Map();

  clientsStore = {
    getClient: (id) => this.clients.get(id),
    registerClient: (client) => {
      this.clients.set(client.client_id, client);
      return client;
    },
  };

  async authorize(client, params, response) {
    requireResource(params.resource);
    const code = randomUUID();
    this.codes.set(code, { client: client.client_id, ...params });
    const back = new URL(params.redirectUri);
    back.searchParams.set("code", code);
    if (params.state !== undefined) back.searchParams.set("state", params.state);
    response.redirect(back.href);
  }

  async challengeForAuthorizationCode(client, code) {
    return this.#code(client, code).codeChallenge;
  }

  async exchangeAuthorizationCode(client, code, _verifier, redirectUri, target) {
    const { scopes, redirectUri: expected } = this.#code(client, code);
    this.codes.delete(code);
    requireResource(target);
    if (redirectUri !== expected) throw new InvalidGrantError("another redirect address");
    return this.#issue(client, scopes ?? []);
  }

  async exchangeRefreshToken(client, token, _scopes, target) {
    const known = this.refresh.get(token);
    requireResource(target);
    if (known?.client !== client.client_id) throw new InvalidGrantError("unknown refresh token");
    // A refresh token is used once.
    this.refresh.delete(token);
    return this.#issue(client, known.scopes);
  }

  async verifyAccessToken(token) {
    const known = this.access.get(token);
    if (known === undefined) throw new InvalidTokenError("unknown or expired token");
    return { token, clientId: known.client, scopes: known.scopes, expiresAt: Date.now() / 1000 + 3600 };
  }

  async revokeToken(_client, { token }) {
    this.access.delete(token);
    this.refresh.delete(token);
    this.revoked = true;
  }

  #code(client, code) {
    const known = this.codes.get(code);
    if (known?.client !== client.client_id) throw new InvalidGrantError("unknown code");
    return known;
  }

  #issue(client, scopes) {
    const known = { client: client.client_id, scopes };
    const [access, refresh] = [`access-${randomUUID()}`, `refresh-${randomUUID()}`];
    this.access.set(access, known);
    this.refresh.set(refresh, known);
    return {
      access_token: access,
      refresh_token: refresh,
      token_type: "bearer",
      expires_in: 3600,
      scope: scopes.join(" "),
    };
  }
}

/** Tokens are for this server alone. */
function requireResource(target) {
  if (target?.href !== resource.href) throw new InvalidGrantError(`not for ${target?.href}`);
}

function echoServer() {
  const server = new McpServer({ name: "login", version: "1.0.0" });
  server.registerTool("echo", { description: "Says that the call arrived" }, () => ({
    content: [{ type: "text", text: "fine" }],
  }));
  return server;
}

const provider = new LoginProvider();
const app = express();
app.use(
  mcpAuthRouter({
    provider,
    issuerUrl: origin,
    resourceServerUrl: resource,
    scopesSupported: ["read"],
    clientRegistrationOptions: { rateLimit: false },
    tokenOptions: { rateLimit: false },
    authorizationOptions: { rateLimit: false },
    revocationOptions: { rateLimit: false },
  }),
);
app.get("/expire", (_request, response) => {
  provider.access.clear();
  response.json({ revoked: provider.revoked === true });
});
const guard = requireBearerAuth({
  verifier: provider,
  requiredScopes: ["read"],
  resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource),
});
app.all("/mcp", guard, express.json(), async (request, response) => {
  if (request.method !== "POST") return response.status(405).end();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  response.on("close", () => transport.close());
  await echoServer().connect(transport);
  await transport.handleRequest(request, response, request.body);
});
app.listen(port, "127.0.0.1");
