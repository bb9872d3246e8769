package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

var _ resource.ResourceWithConfigure = (*domainResource)(nil)

// NewDomain returns the resource tenant_domain.
func NewDomain() resource.Resource { return &domainResource{} }

type domainResource struct{ configured }

// Metadata names the resource.
func (r *domainResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_domain"
}

// Schema describes the resource.
func (r *domainResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{}
}

// Create makes it.
func (r *domainResource) Create(context.Context, resource.CreateRequest, *resource.CreateResponse) {}

// Read reads it.
func (r *domainResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

// Update changes it.
func (r *domainResource) Update(context.Context, resource.UpdateRequest, *resource.UpdateResponse) {}

// Delete removes it.
func (r *domainResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
