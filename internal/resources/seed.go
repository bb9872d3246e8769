package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

var _ resource.ResourceWithConfigure = (*seedResource)(nil)

// NewSeed returns the resource tenant_seed.
func NewSeed() resource.Resource { return &seedResource{} }

type seedResource struct{ configured }

// Metadata names the resource.
func (r *seedResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_seed"
}

// Schema describes the resource.
func (r *seedResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{}
}

// Create makes it.
func (r *seedResource) Create(context.Context, resource.CreateRequest, *resource.CreateResponse) {}

// Read reads it.
func (r *seedResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

// Update changes it.
func (r *seedResource) Update(context.Context, resource.UpdateRequest, *resource.UpdateResponse) {}

// Delete removes it.
func (r *seedResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
