package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

var _ resource.ResourceWithConfigure = (*identityResource)(nil)

// NewIdentity returns the resource tenant_identity.
func NewIdentity() resource.Resource { return &identityResource{} }

type identityResource struct{ configured }

// Metadata names the resource.
func (r *identityResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_identity"
}

// Schema describes the resource.
func (r *identityResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{}
}

// Create makes it.
func (r *identityResource) Create(context.Context, resource.CreateRequest, *resource.CreateResponse) {}

// Read reads it.
func (r *identityResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

// Update changes it.
func (r *identityResource) Update(context.Context, resource.UpdateRequest, *resource.UpdateResponse) {}

// Delete removes it.
func (r *identityResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
