// A round trip with openapi-fetch over the types that openapi-typescript made of the document.
// Usage: node round_trip.js ADDRESS KEY WORKSPACE PROJECT
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { argv: string[] };
type Label = components["schemas"]["Label"];

const [baseUrl = "", key = "", slug = "", project_id = ""] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { "X-Api-Key": key } });
const labels = "/api/v2/workspaces/{slug}/projects/{project_id}/labels/";
const one = "/api/v2/workspaces/{slug}/projects/{project_id}/labels/{pk}/";

function same(what: string, actual: unknown, expected: unknown): void {
    if (JSON.stringify(actual) !== JSON.stringify(expected)) {
        throw new Error(`${what}: ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`);
    }
}

function given<T>(what: string, value: T | undefined): T {
    if (value === undefined) {
        throw new Error(`${what}: no answer`);
    }
    return value;
}

const me = await client.GET("/api/v2/users/me/");
same("me", given("me", me.data).email, "ada@acme.test");

const created = await client.POST(labels, {
    params: { path: { slug, project_id } },
    body: { name: "from TypeScript", color: "#3178c6" },
});
same("create", created.response.status, 201);
const label: Label = given("create", created.data);
const path = { slug, project_id, pk: label.id };

const read = await client.GET(one, { params: { path } });
same("retrieve", read.data, label);

const changed = await client.PATCH(one, { params: { path }, body: { description: "typed", parent_id: null } });
same("update", given("update", changed.data).description, "typed");

const page = await client.GET(labels, {
    params: { path: { slug, project_id }, query: { name: "from TypeScript", per_page: 5, count: true } },
});
const listed = given("list", page.data);
same("list", listed.data.map((row) => row.id), [label.id]);
if ("total_count" in listed) {
    same("counted", listed.total_count, 1);
} else {
    throw new Error("not an offset page");
}

const items = await client.GET("/api/v2/workspaces/{slug}/projects/{project_id}/work-items/", {
    params: { path: { slug, project_id }, query: { paginate: "cursor", per_page: 7, order_by: "sequence_id" } },
});
const found = given("items", items.data);
same("items", found.data.map((row) => row.sequence_id), [1, 2, 3, 4, 5, 6, 7]);
same("more", "has_more" in found && found.has_more, true);

const gone = await client.DELETE(one, { params: { path } });
same("delete", gone.response.status, 204);
const missing = await client.GET(one, { params: { path } });
same("gone", given("problem", missing.error).code, "resource_not_found");
