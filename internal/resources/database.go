package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

var _ resource.ResourceWithConfigure = (*databaseResource)(nil)

// NewDatabase returns the resource tenant_database.
func NewDatabase() resource.Resource { return &databaseResource{} }

type databaseResource struct{ configured }

// Metadata names the resource.
func (r *databaseResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_database"
}

// Schema describes the resource.
func (r *databaseResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{}
}

// Create makes it.
func (r *databaseResource) Create(context.Context, resource.CreateRequest, *resource.CreateResponse) {}

// Read reads it.
func (r *databaseResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

// Update changes it.
func (r *databaseResource) Update(context.Context, resource.UpdateRequest, *resource.UpdateResponse) {}

// Delete removes it.
func (r *databaseResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
