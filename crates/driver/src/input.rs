//! What the driver is given on standard input: a plan, or a text that is read by whoever asked for it.

use std::io::Read;

use anyhow::{ensure, Context, Result};
use loadstone_schedule::plan::{Plan, PLAN_SCHEMA};

/// The plan on standard input.
pub fn read_plan() -> Result<Plan> {
    parse_plan(&input()?)
}

/// A plan from its text; refuses one of another schema.
pub fn parse_plan(text: &str) -> Result<Plan> {
    let plan: Plan = serde_json::from_str(text).context("the plan is not valid")?;
    check_schema(&plan)?;
    Ok(plan)
}

/// Refuses a plan of another schema.
pub fn check_schema(plan: &Plan) -> Result<()> {
    ensure!(plan.schema == PLAN_SCHEMA, "plan schema {}, this driver reads {PLAN_SCHEMA}", plan.schema);
    Ok(())
}

/// All of standard input.
pub fn input() -> Result<String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
    Ok(text)
}
