data "tenant_pools" "trial" {
  plan = "trial"
}

output "pools_for_trials" {
  value = keys(data.tenant_pools.trial.pools)
}
