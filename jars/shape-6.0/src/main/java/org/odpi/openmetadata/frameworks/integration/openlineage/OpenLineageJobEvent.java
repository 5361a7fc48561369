/* SPDX-License-Identifier: Apache-2.0 */
package org.odpi.openmetadata.frameworks.integration.openlineage;

/** A job event as a bean; what it holds is the business of whoever makes it. */
public class OpenLineageJobEvent {}
