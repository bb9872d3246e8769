package resources

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	listing "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/tenantry/terraform-provider-tenant/internal/tenant"
)

// Terraform 1.14 and newer can list what a provider manages; older ones never ask.
var (
	_ listing.ListResourceWithConfigure = (*databaseList)(nil)
	_ listing.ListResourceWithConfigure = (*domainList)(nil)
	_ listing.ListResourceWithConfigure = (*identityList)(nil)
)

// NewDatabaseList returns the list resource tenant_database: all databases with our mark, in every pool.
func NewDatabaseList() listing.ListResource { return &databaseList{} }

type databaseList struct{ databaseResource }

// NewDomainList returns the list resource tenant_domain: the hostnames of all tenants with a default hostname of ours.
func NewDomainList() listing.ListResource { return &domainList{} }

type domainList struct{ domainResource }

// NewIdentityList returns the list resource tenant_identity: all organizations with our mark.
func NewIdentityList() listing.ListResource { return &identityList{} }

type identityList struct{ identityResource }

// ListResourceConfigSchema describes the list: it takes no arguments.
func (*databaseList) ListResourceConfigSchema(
	_ context.Context, _ listing.ListResourceSchemaRequest, resp *listing.ListResourceSchemaResponse,
) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "All databases of the installation, in every pool, found by their marks.",
	}
}

// ListResourceConfigSchema describes the list: it takes no arguments.
func (*domainList) ListResourceConfigSchema(
	_ context.Context, _ listing.ListResourceSchemaRequest, resp *listing.ListResourceSchemaResponse,
) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The hostnames of all tenants of the installation, found by the marks of their records.",
	}
}

// ListResourceConfigSchema describes the list: it takes no arguments.
func (*identityList) ListResourceConfigSchema(
	_ context.Context, _ listing.ListResourceSchemaRequest, resp *listing.ListResourceSchemaResponse,
) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "All organizations of the installation, found by their marks.",
	}
}

// List tells the databases, ordered by tenant.
func (l *databaseList) List(ctx context.Context, req listing.ListRequest, stream *listing.ListResultsStream) {
	found, err := l.all(ctx)
	stream.Results = results(ctx, req, tenant.StepDatabase, found, err, func(id tenant.ID) any {
		return importedDatabase(id).with(found[id])
	})
}

func (l *databaseList) all(ctx context.Context) (map[tenant.ID]tenant.Database, error) {
	if l.backends() == nil {
		return nil, errNotConfigured("listing databases")
	}
	found := map[tenant.ID]tenant.Database{}
	var errs []error
	for _, pool := range l.backends().Pools {
		lister, ok := pool.Databases.(tenant.DatabaseLister)
		if !ok {
			continue
		}
		databases, err := lister.ListDatabases(ctx)
		errs = append(errs, err)
		for id, database := range databases {
			database.Place.Pool = pool.Name
			found[id] = database
		}
	}
	return found, errors.Join(errs...)
}

// List tells the tenants' hostnames, ordered by tenant.
func (l *domainList) List(ctx context.Context, req listing.ListRequest, stream *listing.ListResultsStream) {
	found, err := l.all(ctx, req.IncludeResource)
	stream.Results = results(ctx, req, tenant.StepDomain, found, err, func(id tenant.ID) any {
		return l.asImported(id, found[id])
	})
}

// all reads each tenant's hostnames only if they are asked for: one list of the zone tells who has any.
func (l *domainList) all(ctx context.Context, read bool) (map[tenant.ID]tenant.Domain, error) {
	if l.backends() == nil {
		return nil, errNotConfigured("listing hostnames")
	}
	lister, ok := l.backends().Domains.Records.(tenant.RecordLister)
	if !ok {
		return nil, nil
	}
	records, err := lister.ListRecords(ctx)
	found, errs := map[tenant.ID]tenant.Domain{}, []error{err}
	for id := range records {
		found[id] = tenant.Domain{}
		if read {
			found[id], err = l.findDomain(ctx, id)
			errs = append(errs, err)
		}
	}
	return found, errors.Join(errs...)
}

// List tells the organizations, ordered by tenant.
func (l *identityList) List(ctx context.Context, req listing.ListRequest, stream *listing.ListResultsStream) {
	var found map[tenant.ID]tenant.Identity
	err := errNotConfigured("listing organizations")
	if l.backends() != nil {
		found, err = nil, nil
		if lister, ok := l.backends().Identities.(tenant.IdentityLister); ok {
			found, err = lister.ListIdentities(ctx)
		}
	}
	stream.Results = results(ctx, req, tenant.StepIdentity, found, err, func(id tenant.ID) any {
		return importedIdentity(id, tenant.DefaultHostname(id, l.backends().Zone), found[id])
	})
}

// results pushes what was found up to the limit that Terraform asks for, then what went wrong.
func results[T any](
	ctx context.Context,
	req listing.ListRequest,
	step tenant.Step,
	found map[tenant.ID]T,
	err error,
	model func(tenant.ID) any,
) iter.Seq[listing.ListResult] {
	return func(push func(listing.ListResult) bool) {
		for n, id := range slices.Sorted(maps.Keys(found)) {
			if req.Limit > 0 && int64(n) >= req.Limit {
				return
			}
			result := req.NewListResult(ctx)
			result.DisplayName = string(id)
			result.Diagnostics.Append(
				result.Identity.SetAttribute(ctx, path.Root("tenant_id"), types.StringValue(string(id)))...)
			if req.IncludeResource {
				result.Diagnostics.Append(result.Resource.Set(ctx, model(id))...)
			}
			if !push(result) {
				return
			}
		}
		if err != nil {
			push(listing.ListResult{Diagnostics: diag.Diagnostics{Diagnose(step, err)}})
		}
	}
}
